"""One file per controller, each with a SPEC, what it observes and what it plans; they are listed here, no more.

A controller knows neither the client nor the queue nor another controller: it reads caches, and yields actions. The
one exception is `replicationcontroller`, which is `replicaset` for another kind. What several share is in
`controller_manager.parts`.
"""

from collections.abc import Mapping

from controller_manager.controllers import (
    advancedstatefulset,
    cloneset,
    deployment,
    disruption,
    endpoints,
    endpointslice,
    endpointslicemirroring,
    ephemeral,
    garbagecollector,
    kubelet,
    namespace,
    node,
    nodelifecycle,
    persistentvolume,
    podgc,
    pvcprotection,
    pvprotection,
    replicaset,
    replicationcontroller,
    rootca,
    scheduler,
    serviceaccount,
    statefulset,
    storageclass,
    tainteviction,
    uniteddeployment,
)
from controller_manager.runtime.contract import Spec

_SPECS: tuple[Spec, ...] = (
    deployment.SPEC,
    replicaset.SPEC,
    replicationcontroller.SPEC,
    statefulset.SPEC,
    garbagecollector.SPEC,
    namespace.SPEC,
    serviceaccount.SPEC,
    rootca.SPEC,
    disruption.SPEC,
    podgc.SPEC,
    endpoints.SPEC,
    endpointslice.SPEC,
    endpointslicemirroring.SPEC,
    storageclass.SPEC,
    persistentvolume.SPEC,
    ephemeral.SPEC,
    pvcprotection.SPEC,
    pvprotection.SPEC,
    scheduler.SPEC,
    kubelet.SPEC,
    node.SPEC,
    nodelifecycle.SPEC,
    tainteviction.SPEC,
    uniteddeployment.SPEC,
    cloneset.SPEC,
    advancedstatefulset.SPEC,
)

CONTROLLERS: Mapping[str, Spec] = {spec.name: spec for spec in _SPECS}
"""Name → controller, as --controllers knows them."""
