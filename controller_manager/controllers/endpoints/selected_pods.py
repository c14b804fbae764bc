"""Services and the pods that they select, as caches have them: for the controllers of Endpoints and EndpointSlices."""

from collections.abc import Iterable, Sequence

from apiserver.api.meta import Obj, labels_of, namespace_of
from controller_manager.controllers.endpoints.services import Selectors, selector_of
from controller_manager.reconcile.contract import NAMESPACE_INDEX, Change, Key, Listers
from controller_manager.reconcile.kinds import POD

SELECTORS = "service-selectors"
"""The view that is a Selectors, fed by Services."""
PACE = 0.5
"""Seconds between two looks at one Service, so that a burst of changes of its pods is one."""


def selected_pods(listers: Listers, service: Obj) -> Sequence[Obj]:
    """The pods that a Service selects."""
    wanted = selector_of(service).items()
    return [pod for pod in listers[POD].by(NAMESPACE_INDEX, namespace_of(service)) if wanted <= labels_of(pod).items()]


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """The Services whose endpoints a pod changes."""
    selectors: Selectors = listers.view(SELECTORS)
    return selectors.touched(change.old, change.new)
