"""Defaults of a pod's spec."""

from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.groups.core.pods.defaults import pull_policy
from apiserver.registry.kind_tables import set_defaults

DIGEST = "sha256:" + "0" * 64


def defaulted(spec: Obj, **rest: Any) -> Obj:
    pod: Obj = {"spec": spec, **rest}
    set_defaults("", "v1", "Pod", pod)
    return pod


def container(**fields: Any) -> Obj:
    containers: list[Obj] = defaulted({"containers": [{"name": "c", "image": "i:1", **fields}]})["spec"]["containers"]
    return containers[0]


def volume(**source: Any) -> Obj:
    (pod_volume,) = defaulted({"volumes": [{"name": "v", **source}]})["spec"]["volumes"]
    return {key: value for key, value in pod_volume.items() if key != "name"}


def test_a_pod_without_a_word_gets_the_whole_spec():
    assert defaulted({})["spec"] == {
        "dnsPolicy": "ClusterFirst",
        "enableServiceLinks": True,
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def test_given_values_stay():
    given = {
        "dnsPolicy": "Default",
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "schedulerName": "mine",
        "securityContext": {"runAsUser": 0},
        "terminationGracePeriodSeconds": 0,
    }
    assert defaulted(dict(given))["spec"] == given


def test_a_container_gets_its_policies():
    assert container() == {
        "name": "c",
        "image": "i:1",
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }


@pytest.mark.parametrize("field", ["containers", "initContainers", "ephemeralContainers"])
def test_containers_of_every_sort_are_defaulted(field: str):
    (with_defaults,) = defaulted({field: [{"name": "c", "image": "i", "ports": [{"containerPort": 1}]}]})["spec"][field]
    assert (with_defaults["imagePullPolicy"], with_defaults["ports"][0]["protocol"]) == ("Always", "TCP")


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("busybox", "Always"),
        ("busybox:latest", "Always"),
        ("busybox:1.36", "IfNotPresent"),
        ("localhost:5000/x", "Always"),
        ("localhost:5000/x:1", "IfNotPresent"),
        ("localhost/x", "Always"),
        ("Registry/x", "Always"),
        ("a.example.com/b/c:latest", "Always"),
        ("[2001:db8::1]:5000/x", "Always"),
        (f"nginx@{DIGEST}", "IfNotPresent"),
        (f"nginx:latest@{DIGEST}", "Always"),
        (f"nginx:1@{DIGEST}", "IfNotPresent"),
        ("", "IfNotPresent"),
        ("Upper", "IfNotPresent"),
        ("x/Upper", "IfNotPresent"),
        ("a b", "IfNotPresent"),
        ("0" * 64, "IfNotPresent"),
        ("nginx@sha256:0", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str):
    assert pull_policy(image) == policy


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
        ({"httpGet": {"port": 80}}, {"httpGet": {"port": 80, "path": "/", "scheme": "HTTP"}}),
        ({"httpGet": {"path": "/x", "scheme": "HTTPS"}}, {"httpGet": {"path": "/x", "scheme": "HTTPS"}}),
        ({"grpc": {"port": 1, "service": None}}, {"grpc": {"port": 1, "service": ""}}),
        ({"periodSeconds": 5, "failureThreshold": 1}, {"periodSeconds": 5, "failureThreshold": 1}),
    ],
)
@pytest.mark.parametrize("probe", ["livenessProbe", "readinessProbe", "startupProbe"])
def test_a_probe_gets_numbers_and_an_action(probe: str, given: Obj, expected: Obj):
    obj = container(**{probe: {key: dict(v) if isinstance(v, dict) else v for key, v in given.items()}})[probe]
    assert obj == {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3} | expected


def test_hooks_over_http_get_path_and_scheme():
    obj = container(lifecycle={"preStop": {"httpGet": {"port": 1}}, "postStart": {"exec": {"command": ["x"]}}})
    assert obj["lifecycle"]["preStop"]["httpGet"] == {"port": 1, "path": "/", "scheme": "HTTP"}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({"fieldRef": {"fieldPath": "x"}}, {"fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}),
        ({"resourceFieldRef": {"resource": "limits.cpu"}}, {"resourceFieldRef": {"resource": "limits.cpu"}}),
        ({"fileKeyRef": {"key": "k"}}, {"fileKeyRef": {"key": "k", "optional": False}}),
    ],
)
def test_a_variable_from_a_field_names_its_version(source: Obj, expected: Obj):
    obj = container(env=[{"name": "A", "valueFrom": source}, {"name": "B"}])
    assert obj["env"] == [{"name": "A", "valueFrom": expected}, {"name": "B"}]


@pytest.mark.parametrize(
    ("resources", "requests"),
    [
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, {"cpu": "1", "memory": "1Gi"}),
        ({"limits": {"cpu": "1"}, "requests": {"cpu": "500m"}}, {"cpu": "500m"}),
        ({"limits": {"cpu": "1"}, "requests": {"memory": "1"}}, {"cpu": "1", "memory": "1"}),
        ({"requests": {"cpu": "500m"}}, {"cpu": "500m"}),
    ],
)
def test_a_container_requests_what_it_limits(resources: Obj, requests: Obj):
    assert container(resources=resources)["resources"]["requests"] == requests


def test_a_template_requests_nothing_by_itself():
    template: Obj = {"template": {"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}}}]}}}
    set_defaults("", "v1", "PodTemplate", template)
    assert template["template"]["spec"]["containers"][0]["resources"] == {"limits": {"cpu": "1"}}


@pytest.mark.parametrize(
    ("amount", "rounded"),
    [("1u", "1m"), ("1500u", "2m"), ("1n", "1m"), ("999001u", "1"), ("1m", "1m"), ("2", "2"), ("1Gi", "1Gi")],
)
def test_amounts_below_a_thousandth_are_rounded_up(amount: str, rounded: str):
    assert container(resources={"requests": {"cpu": amount}})["resources"]["requests"] == {"cpu": rounded}


def test_ports_on_the_host_network_are_the_hosts():
    spec = {"hostNetwork": True, "containers": [{"name": "c", "ports": [{"containerPort": 80}]}]}
    assert defaulted(spec)["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"},
    ]


@pytest.mark.parametrize(
    ("given", "account"),
    [
        ({"serviceAccountName": "a"}, "a"),
        ({"serviceAccount": "a"}, "a"),
        ({"serviceAccountName": "a", "serviceAccount": "b"}, "a"),
    ],
)
def test_both_names_of_the_account_agree(given: Obj, account: str):
    spec = defaulted(dict(given))["spec"]
    assert (spec["serviceAccountName"], spec["serviceAccount"]) == (account, account)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ({}, {"emptyDir": {}}),
        ({"emptyDir": {"medium": "Memory"}}, {"emptyDir": {"medium": "Memory"}}),
        ({"secret": {"secretName": "s"}}, {"secret": {"secretName": "s", "defaultMode": 420}}),
        ({"secret": {"defaultMode": 256}}, {"secret": {"defaultMode": 256}}),
        ({"configMap": {"name": "c"}}, {"configMap": {"name": "c", "defaultMode": 420}}),
        ({"hostPath": {"path": "/x"}}, {"hostPath": {"path": "/x", "type": ""}}),
        ({"iscsi": {}}, {"iscsi": {"iscsiInterface": "default"}}),
        ({"rbd": {}}, {"rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"}}),
        (
            {"azureDisk": {}},
            {"azureDisk": {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False}},
        ),
        ({"scaleIO": {}}, {"scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"}}),
        ({"image": {"reference": "i"}}, {"image": {"reference": "i", "pullPolicy": "Always"}}),
        (
            {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "x"}}]}},
            {
                "downwardAPI": {
                    "defaultMode": 420,
                    "items": [{"path": "p", "fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}],
                }
            },
        ),
        (
            {
                "projected": {
                    "sources": [
                        {"serviceAccountToken": {"path": "t"}},
                        {"configMap": {"name": "c"}},
                        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "x"}}]}},
                    ]
                }
            },
            {
                "projected": {
                    "defaultMode": 420,
                    "sources": [
                        {"serviceAccountToken": {"path": "t", "expirationSeconds": 3600}},
                        {"configMap": {"name": "c"}},
                        {"downwardAPI": {"items": [{"path": "p", "fieldRef": {"fieldPath": "x", "apiVersion": "v1"}}]}},
                    ],
                }
            },
        ),
        (
            {"ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
            {"ephemeral": {"volumeClaimTemplate": {"spec": {"volumeMode": "Filesystem"}}}},
        ),
    ],
)
def test_a_volume_gets_its_sources_defaults(source: Obj, expected: Obj):
    assert volume(**source) == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"podIP": "10.0.0.1"}, {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}]}),
        ({"podIPs": [{"ip": "::1"}]}, {"podIP": "::1", "podIPs": [{"ip": "::1"}]}),
        ({"podIP": "a", "podIPs": [{"ip": "b"}, {"ip": "c"}]}, {"podIP": "a", "podIPs": [{"ip": "a"}]}),
        (
            {"podIP": "b", "podIPs": [{"ip": "b"}, {"ip": "c"}]},
            {"podIP": "b", "podIPs": [{"ip": "b"}, {"ip": "c"}]},
        ),
    ],
)
def test_the_pods_address_and_addresses_agree(given: Obj, expected: Obj):
    assert defaulted({}, status=dict(given))["status"] == expected


def needing(*, restart: str = "", **resources: Obj) -> Obj:
    return {"name": "c", "resources": resources} | ({"restartPolicy": restart} if restart else {})


@pytest.mark.parametrize(
    ("resources", "containers", "init", "expected"),
    [
        ({}, [needing(requests={"cpu": "1"})], [], {}),
        ({"limits": {"cpu": "2"}}, [], [], {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}),
        (
            {"limits": {"cpu": "2"}},
            [needing(requests={"cpu": "500m"}), needing(requests={"cpu": "700m", "memory": "1Gi"})],
            [],
            {"limits": {"cpu": "2"}, "requests": {"cpu": "1200m", "memory": "1Gi"}},
        ),
        (
            {"limits": {"cpu": "5"}},
            [needing(requests={"cpu": "1"})],
            [needing(restart="Always", requests={"cpu": "1"}), needing(requests={"cpu": "3"})],
            {"limits": {"cpu": "5"}, "requests": {"cpu": "4"}},
        ),
        (
            {"requests": {"cpu": "1"}},
            [needing(limits={"cpu": "1"}), needing(limits={"cpu": "2", "memory": "1Gi"})],
            [],
            {"limits": {"cpu": "3"}, "requests": {"cpu": "1"}},
        ),
        (
            {"requests": {"memory": "1Gi"}},
            [needing(limits={"hugepages-2Mi": "4Mi"})],
            [],
            {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi", "memory": "1Gi"}},
        ),
    ],
)
def test_resources_of_the_whole_pod_follow_from_its_containers(
    resources: Obj, containers: list[Obj], init: list[Obj], expected: Obj
):
    obj = defaulted({"resources": dict(resources), "containers": containers, "initContainers": init})
    assert obj["spec"]["resources"] == expected
