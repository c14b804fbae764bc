"""The kubelets' streaming server, for all simulated nodes at once: logs, exec, attach, port-forward, cp.

I/O is allowed here: `server` listens, `spdy`, `websockets` and `multiplexing` are the protocols that clients speak.
Answers come from the caches and from `controller_manager.kubelet.container`. Nothing here writes to the cluster.
"""
