"""The controller manager: controllers, scheduler and simulated nodes, in a process of their own.

`reconcile` has what all controllers are written with, `runtime` the machinery that runs them; `controllers`,
`scheduler`, `kubelet` and `kruise` have the controllers, and `manager` starts those in `known_controllers`. The API
server is reached by HTTP alone, and of its code only `apiserver.api` and `apiserver.component_base` are used, so all
this works with any cluster.
"""
