"""The kubelets' side of logs, exec, attach, port-forward and cp, for all simulated nodes at once.

I/O is allowed here: `server` listens, `spdy`, `websockets` and `multiplexing` are the protocols that clients speak, and
what is answered comes from the caches and from `controller_manager.containers`, which does no I/O. Nothing here writes
to the cluster.
"""
