"""One folder or file per controller of kube-controller-manager, under its name there.

In a folder, `controller.py` says what the controller watches; its `observe` reads caches, its `reconcile` yields
actions. Its arithmetic lies beside it: how many pods, which of them, what status. A controller knows neither the
client, the queue nor the clock, nor another controller; EndpointSlices and their mirror use what is theirs in common
with `endpoints` and `endpointslice`. What several controllers need is in `controller_manager.reconcile`.
"""
