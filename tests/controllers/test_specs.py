"""The names of controllers, which are upstream's: the component in their Events and the queue in their metrics."""

from importlib import import_module

import pytest

from controller_manager.known_controllers import CONTROLLERS
from controller_manager.reconcile.metric_defs import MetricDef

SPECS = list(CONTROLLERS.values())

KNOWN = {  # name: (component, queue if it is not the name)
    "advancedstatefulset": ("statefulset-controller", "statefulset-controller"),
    "cloneset": ("cloneset-controller", "cloneset-controller"),
    "clusterrole-aggregation": ("", "ClusterRoleAggregator"),
    "csrapproving": ("", "certificate"),
    "csrcleaner": ("", ""),
    "csrsigning": ("", "certificate"),
    "deployment": ("deployment-controller", ""),
    "disruption": ("controllermanager", ""),
    "resourcequota": ("resourcequota-controller", "resourcequota_primary"),
    "endpoint": ("endpoint-controller", ""),
    "endpointslice": ("endpoint-slice-controller", "endpoint_slice"),
    "endpointslicemirroring": ("endpoint-slice-mirroring-controller", "endpoint_slice_mirroring"),
    "ephemeral-volume": ("ephemeral_volume", "ephemeral_volume"),
    "garbagecollector": ("garbage-collector-controller", "garbage_collector_attempt_to_delete"),
    "kubelet": ("kubelet", ""),
    "namespace": ("namespace-controller", ""),
    "node": ("kubelet", ""),
    "nodelifecycle": ("node-controller", "node_lifecycle_controller"),
    "persistentvolume-binder": ("persistentvolume-controller", "claims"),
    "podgc": ("", "orphaned_pods_nodes"),
    "pv-protection": ("", "pvprotection"),
    "pvc-protection": ("", "pvcprotection"),
    "replicaset": ("replicaset-controller", "replicaset"),
    "replicationcontroller": ("replication-controller", "replicationmanager"),
    "root-ca-certificate-publisher": ("root-ca-cert-publisher", "root_ca_cert_publisher"),
    "scheduler": ("default-scheduler", ""),
    "serviceaccount": ("service-account-controller", ""),
    "serviceaccount-token": ("", "serviceaccount_tokens_secret"),
    "statefulset": ("statefulset-controller", ""),
    "storageclass": ("", ""),
    "taint-eviction-controller": ("taint-eviction-controller", "noexec_taint_pod"),
    "tokencleaner": ("", "token_cleaner"),
    "uniteddeployment": ("uniteddeployment-controller", "uniteddeployment-controller"),
}


def test_events_and_metrics_bear_the_names_that_upstream_gives_them():
    assert {spec.name: (spec.source, spec.queue) for spec in SPECS} == KNOWN


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.name)
def test_a_controller_declares_all_meters_that_its_module_counts_with(spec):
    module = import_module(spec.reconcile.__module__)
    used = {value.name for value in vars(module).values() if isinstance(value, MetricDef)}
    assert used <= {metric.name for metric in spec.metrics}
