"""The usage that the controller writes into the status of a quota."""

import os
import subprocess

import pytest
from patience import SECONDS

from controller_manager.controllers.resourcequota import ALL, SPEC
from controller_manager.reconcile.contract import Change, Enqueue, Update
from controller_manager.reconcile.kinds import CLAIM, CONFIG_MAP, DEPLOYMENT, EVERYTHING, POD, RESOURCE_QUOTA, SERVICE
from mockube.cluster import Cluster

PATIENT = "--timeout=300s"
NAMESPACE = {"namespace": "default"}


def quota(hard, *, status=None, name="q", **spec):
    return {
        "metadata": {"name": name, **NAMESPACE},
        "spec": {"hard": hard} | spec,
        "status": status or {},
    }


def pod(name, cpu="1", phase="Running", **more):
    resources = {"requests": {"cpu": cpu}, "limits": {"cpu": cpu}}
    spec = {"containers": [{"name": "c", "resources": resources}]} | more.pop("spec", {})
    meta = {"name": name, **NAMESPACE} | more.pop("metadata", {})
    return {"metadata": meta, "spec": spec, "status": {"phase": phase, "qosClass": "Burstable"} | more}


def claim(name, storage, storage_class="fast", **status):
    resources = {"requests": {"storage": storage}}
    return {
        "metadata": {"name": name, **NAMESPACE},
        "spec": {"storageClassName": storage_class, "resources": resources},
        "status": status,
    }


def service(name, kind="ClusterIP", ports=1, **spec):
    return {
        "metadata": {"name": name, **NAMESPACE},
        "spec": {"type": kind, "ports": [{"port": port} for port in range(ports)]} | spec,
    }


def named(name):
    return {"metadata": {"name": name, **NAMESPACE}}


SIDECAR = {"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}}
INIT = {"name": "i", "resources": {"requests": {"cpu": "3"}}}


@pytest.mark.parametrize(
    ("limited", "objects", "used"),
    [
        (
            quota({"pods": "9", "count/pods": "9", "requests.cpu": "9", "limits.cpu": "9", "memory": "1Gi"}),
            {POD: [pod("a"), pod("b", "500m"), pod("c", phase="Succeeded")]},
            {"pods": "2", "count/pods": "3", "requests.cpu": "1500m", "limits.cpu": "1500m", "memory": "0"},
        ),
        (
            quota({"cpu": "9"}),
            {POD: [pod("a", spec={"initContainers": [SIDECAR, INIT], "overhead": {"cpu": "100m"}})]},
            {"cpu": "4100m"},
        ),
        (
            quota({"cpu": "9"}),
            {POD: [pod("a", containerStatuses=[{"name": "c", "resources": {"requests": {"cpu": "3"}}}])]},
            {"cpu": "3"},
        ),
        (
            quota({"pods": "9"}, scopes=["Terminating"]),
            {POD: [pod("a"), pod("b", spec={"activeDeadlineSeconds": 5})]},
            {"pods": "1"},
        ),
        (
            quota({"pods": "9", "services": "9"}, scopes=["BestEffort"]),
            {POD: [pod("a"), pod("b", qosClass="BestEffort")], SERVICE: [service("s")]},
            {"pods": "1", "services": "0"},
        ),
        (
            quota({"pods": "9"}),
            {POD: [pod("a", metadata={"deletionTimestamp": "2000-01-01T00:00:00Z", "deletionGracePeriodSeconds": 1})]},
            {"pods": "0"},
        ),
        (
            quota({"services": "9", "services.nodeports": "9", "services.loadbalancers": "9"}),
            {
                SERVICE: [
                    service("a"),
                    service("b", "NodePort", 2),
                    service("c", "LoadBalancer", 1, allocateLoadBalancerNodePorts=False),
                ]
            },
            {"services": "3", "services.nodeports": "2", "services.loadbalancers": "1"},
        ),
        (
            quota({"requests.storage": "9Gi", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "2"}),
            {CLAIM: [claim("a", "1Gi", allocatedResources={"storage": "2Gi"}), claim("b", "1Gi", "slow")]},
            {"requests.storage": "3Gi", "fast.storageclass.storage.k8s.io/persistentvolumeclaims": "1"},
        ),
        (
            quota({"configmaps": "9", "count/configmaps": "9", "count/deployments.apps": "9", "example.com/x": "1"}),
            {CONFIG_MAP: [named("a"), named("b")], DEPLOYMENT: [named("d")]},
            {"configmaps": "2", "count/configmaps": "2", "count/deployments.apps": "1"},
        ),
    ],
)
def test_the_status_says_what_is_used_of_each_resource(reconcile, limited, objects, used):
    others = {kind: () for kind in (POD, SERVICE, CLAIM) if kind not in objects}
    (update,) = reconcile(SPEC, "default/q", {RESOURCE_QUOTA: [limited], **others, **objects}).of(Update)
    assert update.subresource == "status"
    assert update.obj["status"] == {"hard": limited["spec"]["hard"], "used": used}


def test_a_status_that_is_right_is_not_written_again(reconcile):
    hard = {"pods": "2", "requests.cpu": "2"}
    right = quota(hard, status={"hard": hard, "used": {"pods": "1", "requests.cpu": "1000m"}})
    objects = {RESOURCE_QUOTA: [right], POD: [pod("a")], SERVICE: (), CLAIM: ()}
    assert not reconcile(SPEC, "default/q", objects).actions
    raised = quota(hard | {"pods": "3"}, status=right["status"])
    (update,) = reconcile(SPEC, "default/q", objects | {RESOURCE_QUOTA: [raised]}).of(Update)
    assert update.obj["status"]["hard"]["pods"] == "3"


def test_all_quotas_are_counted_from_time_to_time(reconcile):
    quotas = [quota({}, name="a"), quota({}, name="b")]
    (enqueued,) = reconcile(SPEC, ALL, {RESOURCE_QUOTA: quotas}).of(Enqueue)
    assert sorted(enqueued.keys) == ["default/a", "default/b"]


@pytest.mark.parametrize(
    ("kind", "old", "new", "concerned"),
    [
        (RESOURCE_QUOTA, None, quota({"pods": "1"}), True),
        (RESOURCE_QUOTA, quota({"pods": "1"}), quota({"pods": "2"}), True),
        (RESOURCE_QUOTA, quota({"pods": "1"}), quota({"pods": "1"}, status={"used": {"pods": "1"}}), False),
        (POD, None, pod("a"), False),
        (POD, pod("a"), pod("a", phase="Succeeded"), True),
        (POD, pod("a"), pod("a", cpu="2"), True),
        (POD, pod("a"), pod("a", metadata={"labels": {"a": "b"}}), False),
        (SERVICE, service("a"), service("a", "NodePort"), True),
        (SERVICE, service("a"), service("a", ports=2), False),
        (CLAIM, claim("a", "1Gi"), claim("a", "1Gi", allocatedResources={"storage": "2Gi"}), True),
        (CLAIM, claim("a", "1Gi"), claim("a", "1Gi", phase="Bound"), False),
        (EVERYTHING, named("a"), None, True),
        (EVERYTHING, None, named("a"), False),
    ],
)
def test_what_the_server_has_charged_already_triggers_nothing(make_world, kind, old, new, concerned):
    world = make_world(SPEC, {RESOURCE_QUOTA: [quota({"pods": "1"})]})
    (trigger,) = (watch.trigger for watch in SPEC.watches if watch.kind == kind)
    assert trigger is not None
    assert list(trigger(world, Change(old, new))) == (["default/q"] if concerned else [])


def test_a_quota_is_counted_and_limits_in_a_cluster_with_roles(kubectl_path):
    with Cluster(nodes=1) as cluster:

        def kubectl(*words):
            environment = os.environ | {"KUBECONFIG": str(cluster.kubeconfig)}
            arguments = [kubectl_path, *words]
            return subprocess.run(
                arguments, capture_output=True, text=True, timeout=SECONDS, env=environment, check=False
            )

        kubectl("create", "quota", "q", "--hard=configmaps=2")
        counted = kubectl("wait", "quota/q", "--for=jsonpath={.status.used.configmaps}=1", PATIENT)
        assert counted.returncode == 0, counted.stderr
        assert kubectl("create", "configmap", "a").returncode == 0
        refused = kubectl("create", "configmap", "b")
        assert "exceeded quota: q, requested: configmaps=1, used: configmaps=2, limited: configmaps=2" in refused.stderr
        kubectl("delete", "configmap", "a")
        freed = kubectl("wait", "quota/q", "--for=jsonpath={.status.used.configmaps}=1", PATIENT)
        assert freed.returncode == 0, freed.stderr
        assert kubectl("create", "configmap", "b").returncode == 0
