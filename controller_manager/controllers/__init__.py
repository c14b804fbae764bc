"""One folder or file per controller of kube-controller-manager, named as it is there.

In a folder, `controller.py` declares what the controller watches; its `observe` reads caches, its `reconcile` yields
actions. The calculations lie beside it: how many pods, which pods, what status. A controller uses neither the client,
the queue, the clock nor another controller; the EndpointSlice controllers share code with `endpoints` and
`endpointslice`. What several controllers need is in `controller_manager.reconcile`.
"""
