"""The pods that a Service selects, read from caches, for the controllers of Endpoints and EndpointSlices."""

from collections.abc import Iterable, Sequence

from apiserver.api.meta import Obj, labels_of, namespace_of
from controller_manager.controllers.endpoints.services import ServiceSelectors, selector_of
from controller_manager.reconcile.contract import NAMESPACE_INDEX, Change, Key, Listers
from controller_manager.reconcile.kinds import POD

SELECTORS = "service-selectors"
"""The name of the view ServiceSelectors, fed by Services."""
MIN_INTERVAL = 0.5
"""Minimum seconds between two syncs of one Service, so that a burst of pod changes causes one sync."""


def selected_pods(listers: Listers, service: Obj) -> Sequence[Obj]:
    """Return the pods that a Service selects."""
    selector = selector_of(service).items()
    return [
        pod
        for pod in listers[POD].by_index(NAMESPACE_INDEX, namespace_of(service))
        if selector <= labels_of(pod).items()
    ]


def pod_changed(listers: Listers, change: Change) -> Iterable[Key]:
    """Return the keys of the Services whose endpoints a pod's change affects."""
    selectors: ServiceSelectors = listers.view(SELECTORS)
    return selectors.affected_services(change.old, change.new)
