"""All controllers by name, as --controllers knows them (kube-controller-manager's KnownControllers)."""

from collections.abc import Mapping

from controller_manager.controllers import (
    clusterroleaggregation,
    namespace,
    podgc,
    resourcequota,
    rootca,
    serviceaccount,
    serviceaccounttokens,
    tainteviction,
    tokencleaner,
)
from controller_manager.controllers.certificates import approver, cleaner, signer
from controller_manager.controllers.deployment import controller as deployment
from controller_manager.controllers.disruption import controller as disruption
from controller_manager.controllers.endpoints import controller as endpoints
from controller_manager.controllers.endpointslice import controller as endpointslice
from controller_manager.controllers.endpointslicemirroring import controller as endpointslicemirroring
from controller_manager.controllers.garbagecollector import controller as garbagecollector
from controller_manager.controllers.nodelifecycle import controller as nodelifecycle
from controller_manager.controllers.replicaset import controller as replicaset
from controller_manager.controllers.replicaset import replicationcontroller
from controller_manager.controllers.statefulset import controller as statefulset
from controller_manager.controllers.volume import ephemeral, persistentvolume, pvcprotection, pvprotection, storageclass
from controller_manager.kruise import specs as kruise
from controller_manager.kubelet.node import controller as node
from controller_manager.kubelet.pods import controller as kubelet
from controller_manager.reconcile.contract import ControllerSpec
from controller_manager.scheduler import controller as scheduler

_SPECS: tuple[ControllerSpec, ...] = (
    deployment.SPEC,
    replicaset.SPEC,
    replicationcontroller.SPEC,
    statefulset.SPEC,
    garbagecollector.SPEC,
    namespace.SPEC,
    serviceaccount.SPEC,
    serviceaccounttokens.SPEC,
    tokencleaner.SPEC,
    rootca.SPEC,
    clusterroleaggregation.SPEC,
    approver.SPEC,
    signer.SPEC,
    cleaner.SPEC,
    resourcequota.SPEC,
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
    *kruise.SPECS,
)

CONTROLLERS: Mapping[str, ControllerSpec] = {spec.name: spec for spec in _SPECS}
"""Controllers by name."""
