"""The controller manager: controllers, scheduler and simulated nodes, in a process of their own.

`reconcile` is what every controller is written with, `runtime` the machinery that runs them; `controllers`,
`scheduler`, `kubelet` and `kruise` are the subjects, and `manager` starts what `known_controllers` lists. The API
server is reached by HTTP alone, and of its code only `apiserver.api` is used, so all this works with any cluster.
"""
