"""Validation of pods: volumes, scheduling, and what else people get wrong."""

from typing import Any

import pytest

from apiserver.registry.validation import VALIDATORS

Spec = dict[str, Any]
POD = VALIDATORS["", "Pod"]
HANDLER = {"exec": {"command": ["true"]}}


@pytest.mark.parametrize(
    ("volume", "wrong"),
    [
        ({"emptyDir": {}}, []),
        (
            {"emptyDir": {}, "hostPath": {"path": "/"}},
            [".hostPath: Forbidden: may not specify more than 1 volume type"],
        ),
        ({"emptyDir": {}, "name": ""}, [".name: Required value"]),
        ({"hostPath": {"path": "/a/.."}}, [".hostPath.path: Invalid value: \"/a/..\": must not contain '..'"]),
        ({"secret": {}}, [".secret.secretName: Required value"]),
        (
            {"configMap": {"name": "m", "items": [{"key": "k", "path": "../x", "mode": 512}]}},
            [
                ".configMap.items[0].path: Invalid value: \"../x\": must not contain '..'",
                (
                    ".configMap.items[0].mode: Invalid value: 512: "
                    "must be a number between 0 and 0777 (octal), both inclusive"
                ),
            ],
        ),
        (
            {"nfs": {"server": "s", "path": "data"}},
            ['.nfs.path: Invalid value: "data": must be an absolute path'],
        ),
        ({"gcePersistentDisk": {}}, [".persistentDisk.pdName: Required value"]),
        ({"csi": {}}, [".csi.driver: Required value"]),
        (
            {"downwardAPI": {"items": [{"path": "a"}]}},
            [".downwardAPI: Required value: one of fieldRef and resourceFieldRef is required"],
        ),
        (
            {"projected": {"sources": [{"serviceAccountToken": {"path": "t", "expirationSeconds": 60}}]}},
            [
                (
                    ".projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 60: "
                    "may not specify a duration less than 10 minutes"
                )
            ],
        ),
        (
            {"projected": {"sources": [{"secret": {"name": n, "items": [{"key": "k", "path": "p"}]}} for n in "ab"]}},
            ['.projected: Invalid value: "b": conflicting duplicate paths'],
        ),
        ({"ephemeral": {}}, [".ephemeral.volumeClaimTemplate: Required value"]),
    ],
)
def test_a_volume_is_refused_for_each_reason(errors_of_pod, volume: Spec, wrong: list[str]) -> None:
    errors = errors_of_pod({"volumes": [{"name": "v"} | volume]})
    assert [line for line in errors if "csi.driver: Invalid" not in line] == [f"spec.volumes[0]{w}" for w in wrong]


def test_two_volumes_of_one_name_are_a_duplicate(errors_of_pod) -> None:
    volume = {"name": "v", "emptyDir": {}}
    assert errors_of_pod({"volumes": [volume, volume]}) == ['spec.volumes[1].name: Duplicate value: "v"']


LABEL_SELECTOR = {"matchExpressions": [{"key": "a", "operator": "Like"}]}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"containers": []}, ["containers: Required value"]),
        (
            {"restartPolicy": "Sometimes"},
            ['restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
        ),
        (
            {"dnsPolicy": "None"},
            ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            {"dnsConfig": {"nameservers": ["1.1.1.1", "1.1.1.2", "1.1.1.3", "x"]}},
            [
                ('dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","x"]: '
                "must not have more than 3 nameservers"),
                ('dnsConfig.nameservers[3]: Invalid value: "x": '
                "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
            ],
        ),
        (
            {"activeDeadlineSeconds": 0},
            ["activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive"],
        ),
        ({"hostname": "a.b"}, ['hostname: Invalid value: "a.b": must not contain dots']),
        (
            {"tolerations": [{"value": "x", "effect": "NoSchedule"}]},
            [
                ('tolerations[0].operator: Invalid value: "": operator must be Exists when `key` is empty, '
                'which means "match all values and all keys"')
            ],
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "x", "tolerationSeconds": 1}]},
            [
                ('tolerations[0].effect: Invalid value: "": '
                "effect must be 'NoExecute' when `tolerationSeconds` is set"),
                "tolerations[0].operator: Invalid value: \"x\": value must be empty when `operator` is 'Exists'",
            ],
        ),
        (
            {"tolerations": [{"key": "a", "effect": "Never"}]},
            [
                ('tolerations[0].effect: Unsupported value: "Never": supported values: '
                '"NoSchedule", "PreferNoSchedule", "NoExecute"')
            ],
        ),
        (
            {"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Cry"}]},
            [
                "topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero",
                "topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
                ('topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Cry": supported values: '
                '"DoNotSchedule", "ScheduleAnyway"'),
            ],
        ),
        (
            {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
            [
                ("affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms: "
                "Required value: must have at least one node selector term")
            ],
        ),
        (
            {
                "affinity": {
                    "podAntiAffinity": {
                        "preferredDuringSchedulingIgnoredDuringExecution": [
                            {"weight": 0, "podAffinityTerm": {"labelSelector": LABEL_SELECTOR, "topologyKey": "zone"}}
                        ]
                    }
                }
            },
            [
                ("affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: "
                "Invalid value: 0: must be in the range 1-100"),
                ("affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm."
                'labelSelector.matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator'),
            ],
        ),
        ({"hostAliases": [{"ip": "a"}]}, [('hostAliases[0].ip: Invalid value: "a": must be a valid IP address, '
                                          "(e.g. 10.9.8.7 or 2001:db8::ffff)")]),
        ({"os": {"name": "plan9"}}, ['os: Unsupported value: "plan9": supported values: "linux", "windows"']),
        (
            {"os": {"name": "windows"}, "securityContext": {"runAsUser": 1}},
            ["securityContext.runAsUser: Forbidden: cannot be set for a windows pod"],
        ),
        ({"ephemeralContainers": [{"name": "e", "image": "i", "imagePullPolicy": "Always",
                                   "terminationMessagePolicy": "File"}]},
         ["ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"schedulingGates": [{"name": "g"}, {"name": "g"}]}, ['schedulingGates[1]: Duplicate value: "g"']),
        (
            {"nodeName": "n", "schedulingGates": [{"name": "g"}]},
            ["nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        ({"securityContext": {"sysctls": [{"name": ""}]}}, ["securityContext.sysctls[0].name: Required value"]),
        ({"hostUsers": False, "hostPID": True}, ["HostPID: Forbidden: when `pod.Spec.HostUsers` is false"]),
        (
            {"preemptionPolicy": "Maybe"},
            ['preemptionPolicy: Unsupported value: "Maybe": supported values: "PreemptLowerPriority", "Never"'],
        ),
        (
            {"overhead": {"cpu": "-1"}},
            ['overhead.limits[cpu]: Invalid value: "-1": must be greater than or equal to 0'],
        ),
        (
            {"resources": {"limits": {"example.com/gpu": "1"}}},
            [
                ('resources.limits[example.com/gpu]: Unsupported value: "example.com/gpu": '
                'supported values: "cpu", "memory"')
            ],
        ),
    ],
)  # fmt: skip
def test_a_spec_is_refused_for_each_reason(errors_of_pod, spec: Spec, wrong: list[str]) -> None:
    assert errors_of_pod(spec) == [f"spec.{line}" for line in wrong]


def test_errors_stand_in_the_order_in_which_they_are_looked_for(errors_of_pod) -> None:
    spec = {
        "restartPolicy": "Maybe",
        "nodeName": "N N",
        "containers": [{"name": "c"}, {"name": "c", "image": "i", "ports": [{}]}],
        "volumes": [{"name": "V", "emptyDir": {}}],
    }
    assert [line.partition(": ")[0] for line in errors_of_pod(spec)] == [
        "spec.volumes[0].name",
        "spec.containers[0].image",
        "spec.containers[1].name",
        "spec.containers[1].ports[0].containerPort",
        "spec.restartPolicy",
        "spec.nodeName",
    ]


def test_init_containers_share_names_and_have_no_probes_unless_they_keep_running(errors_of_pod) -> None:
    init = {"name": "c", "image": "i", "livenessProbe": HANDLER}
    only = "may not be set for init containers without restartPolicy=Always"
    assert errors_of_pod({"initContainers": [init]}) == [
        'spec.initContainers[0].name: Duplicate value: "c"',
        f"spec.initContainers[0].livenessProbe: Forbidden: {only}",
    ]
    assert errors_of_pod({"initContainers": [init | {"name": "s", "restartPolicy": "Always"}]}) == []


@pytest.mark.parametrize(
    ("annotations", "wrong"),
    [
        ({"controller.kubernetes.io/pod-deletion-cost": "-5"}, []),
        (
            {"controller.kubernetes.io/pod-deletion-cost": "+5"},
            [
                (
                    "metadata.annotations[controller.kubernetes.io/pod-deletion-cost]: "
                    'Invalid value: "+5": must be a 32bit integer'
                )
            ],
        ),
        (
            {"container.apparmor.security.beta.kubernetes.io/other": "unconfined"},
            [
                (
                    "metadata.annotations[container.apparmor.security.beta.kubernetes.io/other]: "
                    'Invalid value: "other": container not found'
                )
            ],
        ),
    ],
)
def test_annotations_that_mean_something_are_looked_at(pod, annotations: dict[str, str], wrong: list[str]) -> None:
    obj = pod({})
    obj["metadata"]["annotations"] = annotations
    assert [str(error) for error in POD.create(obj)] == wrong


def test_a_pod_that_was_refused_is_refused_again_and_a_good_one_passes_again(errors_of_pod) -> None:
    for _ in range(2):
        assert errors_of_pod({}) == []
        assert errors_of_pod({"restartPolicy": "x"}) != []


def test_a_pod_may_be_named_so_long_that_its_volumes_claim_cannot(pod) -> None:
    template = {"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}
    obj = pod({"volumes": [{"name": "v" * 10, "ephemeral": {"volumeClaimTemplate": template}}]})
    assert list(POD.create(obj)) == []
    obj["metadata"]["name"] = "p" * 250
    assert [error.path for error in POD.create(obj)] == ["spec.volumes[0].name"]
