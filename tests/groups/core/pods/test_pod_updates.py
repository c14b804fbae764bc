"""Validation of updates of a pod, and of its status."""

from typing import Any

import pytest

from apiserver.groups.core.pods.updates import ephemeral_containers_update
from apiserver.registry.kind_tables import set_defaults
from apiserver.registry.validation import VALIDATORS

Obj = dict[str, Any]
POD = VALIDATORS["", "Pod"]


def pod(status: Obj | None = None, **spec: Any) -> Obj:
    given = {"containers": [{"name": "c", "image": "i"}], "serviceAccountName": "default"} | spec
    obj: Obj = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "ns"}, "spec": given}
    set_defaults("", "v1", "Pod", obj)
    return obj | {"status": status or {}}


def messages(errors: Any) -> list[str]:
    return [str(error).partition("\n")[0] for error in errors]


OTHERS = (
    "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
    "`spec.tolerations` (only additions to existing tolerations),"
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)
TOLERATION = {"key": "a", "operator": "Exists", "effect": "NoExecute"}
GATED = {"schedulingGates": [{"name": "g"}], "nodeSelector": {"a": "b"}}
TERM = {"matchExpressions": [{"key": "a", "operator": "Exists"}]}


def placed(*terms: Obj) -> Obj:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": list(terms)}}
    return {"schedulingGates": [{"name": "g"}], "affinity": {"nodeAffinity": required}}


NARROWED = TERM["matchExpressions"] + [{"key": "b", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ({}, {}, []),
        ({}, {"containers": [{"name": "c", "image": "j"}]}, []),
        ({}, {"containers": [{"name": "c", "image": "i", "command": ["x"]}]}, [OTHERS]),
        ({}, {"nodeName": "n"}, [OTHERS]),
        (
            {},
            {"containers": [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]},
            ["spec.containers: Forbidden: pod updates may not add or remove containers"],
        ),
        ({}, {"activeDeadlineSeconds": 5}, []),
        ({"activeDeadlineSeconds": 5}, {"activeDeadlineSeconds": 4}, []),
        (
            {"activeDeadlineSeconds": 5},
            {"activeDeadlineSeconds": 6},
            ["spec.activeDeadlineSeconds: Invalid value: 6: must be less than or equal to previous value"],
        ),
        (
            {"activeDeadlineSeconds": 5},
            {},
            ["spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"],
        ),
        ({}, {"tolerations": [TOLERATION]}, []),
        ({"tolerations": [TOLERATION]}, {"tolerations": [TOLERATION | {"tolerationSeconds": 3}]}, []),
        (
            {"tolerations": [TOLERATION]},
            {},
            ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"],
        ),
        ({"terminationGracePeriodSeconds": -1}, {"terminationGracePeriodSeconds": 1}, []),
        ({"terminationGracePeriodSeconds": 5}, {"terminationGracePeriodSeconds": 1}, [OTHERS]),
        ({"schedulingGates": [{"name": "g"}]}, {}, []),
        (
            {},
            {"schedulingGates": [{"name": "g"}]},
            ["spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'g'"],
        ),
        (GATED, GATED | {"nodeSelector": {"a": "b", "c": "d"}}, []),
        (
            GATED,
            GATED | {"nodeSelector": {"a": "c"}},
            [('spec.nodeSelector: Invalid value: {"a":"c"}: only additions are allowed (no mutations or deletions)')],
        ),
        (placed(TERM), placed({"matchExpressions": NARROWED}), []),
        (
            placed(TERM),
            placed(TERM, TERM),
            [
                (
                    "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
                    'Invalid value: [{"matchExpressions":[{"key":"a","operator":"Exists"}]},'
                    '{"matchExpressions":[{"key":"a","operator":"Exists"}]}]: '
                    "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
                )
            ],
        ),
    ],
)
def test_a_pod_may_change_only_so_far(old: Obj, new: Obj, wrong: list[str]) -> None:
    assert messages(POD.update(pod(**new), pod(**old))) == wrong


def test_what_changed_stands_behind_the_refusal() -> None:
    (error,) = POD.update(pod(nodeName="b"), pod(nodeName="a"))
    assert '- \tNodeName: "a",\n+ \tNodeName: "b",' in error.message


def test_what_is_empty_is_as_good_as_absent() -> None:
    assert messages(POD.update(pod(volumes=[]), pod(imagePullSecrets=[]))) == []


def test_a_mirror_pod_stays_one() -> None:
    mirror = pod(nodeName="n")
    mirror["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert messages(POD.update(pod(nodeName="n"), mirror)) == [
        "metadata.annotations[kubernetes.io/config.mirror]: Forbidden: may not remove or update mirror pod annotation"
    ]


ENDED = {"name": "c", "state": {"terminated": {"exitCode": 0}}}
RUNNING = {"name": "c", "state": {"running": {}}}


@pytest.mark.parametrize(
    ("old", "new", "wrong"),
    [
        ({"qosClass": "Burstable"}, {"qosClass": "BestEffort"}, ["status.qosClass: Invalid value"]),
        ({"containerStatuses": [ENDED]}, {"containerStatuses": [RUNNING]}, ["status.containerStatuses[0].state: "]),
        ({"containerStatuses": [RUNNING]}, {"containerStatuses": [ENDED]}, []),
        ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]}, []),
        ({}, {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}, ["status.podIPs: Invalid value"]),
        ({}, {"hostIP": "10.0.0.1", "hostIPs": [{"ip": "10.0.0.2"}]}, ["status.hostIPs[0].ip: Invalid value"]),
        ({}, {"nominatedNodeName": "N"}, ["status.nominatedNodeName: Invalid value"]),
    ],
)
def test_a_status_may_change_only_so_far(old: Obj, new: Obj, wrong: list[str]) -> None:
    errors = messages(POD.status_update(pod(new, restartPolicy="Never"), pod(old, restartPolicy="Never")))
    assert len(errors) == len(wrong)
    assert all(error.startswith(start) for error, start in zip(errors, wrong, strict=True))


def test_ephemeral_containers_may_be_added_but_neither_changed_nor_removed() -> None:
    one = {"name": "e", "image": "i", "imagePullPolicy": "Always", "terminationMessagePolicy": "File"}
    with_one, other = pod(ephemeralContainers=[one]), pod(ephemeralContainers=[one | {"image": "j"}])
    assert messages(ephemeral_containers_update(with_one, pod())) == []
    assert messages(ephemeral_containers_update(pod(), with_one)) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be removed'
    ]
    assert messages(ephemeral_containers_update(other, with_one)) == [
        'spec.ephemeralContainers: Forbidden: existing ephemeral containers "e" may not be changed'
    ]
