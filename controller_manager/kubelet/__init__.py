"""The simulated nodes: what real clusters leave to kubelets and container runtimes.

`node` registers nodes and keeps them alive, `pods` is the life of a pod, `container` what is inside a container, and
`streams` the server that answers logs, exec, attach, port-forward and cp. Only `streams` does I/O and tells the time.
"""
