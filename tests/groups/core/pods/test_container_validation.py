"""Validation of the containers of pods."""

from typing import Any

import pytest

Spec = dict[str, Any]
VOLUMES = {"volumes": [{"name": "v", "emptyDir": {}}, {"name": "claim", "persistentVolumeClaim": {"claimName": "x"}}]}
HANDLER = {"exec": {"command": ["true"]}}
RANGE = "must be between 1 and 65535, inclusive"


@pytest.mark.parametrize(
    ("container", "wrong"),
    [
        ({}, []),
        ({"name": ""}, ["name: Required value"]),
        ({"image": ""}, ["image: Required value"]),
        ({"image": " i"}, ['image: Invalid value: " i": must not have leading or trailing whitespace']),
        (
            {"imagePullPolicy": "Often"},
            ['imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
        ),
        (
            {"terminationMessagePolicy": "Loud"},
            ['terminationMessagePolicy: Unsupported value: "Loud": supported values: "File", "FallbackToLogsOnError"'],
        ),
        ({"ports": [{"containerPort": 70000}]}, [f"ports[0].containerPort: Invalid value: 70000: {RANGE}"]),
        ({"ports": [{"name": "a"}]}, ["ports[0].containerPort: Required value"]),
        (
            {"ports": [{"containerPort": 80, "protocol": "HTTP"}]},
            ['ports[0].protocol: Unsupported value: "HTTP": supported values: "SCTP", "TCP", "UDP"'],
        ),
        (
            {"ports": [{"name": "web", "containerPort": 80}, {"name": "web", "containerPort": 81}]},
            ['ports[1].name: Duplicate value: "web"'],
        ),
        (
            {"ports": [{"containerPort": 80, "hostPort": 8}, {"containerPort": 81, "hostPort": 8}]},
            ['ports[1].hostPort: Duplicate value: "TCP//8"'],
        ),
        ({"env": [{"value": "x"}]}, ["env[0].name: Required value"]),
        (
            {"env": [{"name": "A", "valueFrom": {}}]},
            [
                (
                    'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, '
                    "`configMapKeyRef` or `secretKeyRef`"
                )
            ],
        ),
        (
            {"env": [{"name": "A", "value": "x", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]},
            ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.nothing"}}}]},
            [
                (
                    'env[0].valueFrom.fieldRef.fieldPath: Invalid value: "metadata.nothing": '
                    "error converting fieldPath: "
                    "field label not supported: metadata.nothing"
                )
            ],
        ),
        ({"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a']"}}}]}, []),
        (
            {"env": [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.disk"}}}]},
            [
                (
                    'env[0].valueFrom.resourceFieldRef.resource: Unsupported value: "limits.disk": supported values: '
                    '"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", '
                    '"requests.ephemeral-storage", "requests.memory"'
                )
            ],
        ),
        (
            {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": ""}}}]},
            ["env[0].valueFrom.secretKeyRef.key: Required value"],
        ),
        (
            {"envFrom": [{}]},
            ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`'],
        ),
        ({"volumeMounts": [{"name": "v", "mountPath": "/v"}]}, []),
        ({"volumeMounts": [{"name": "w", "mountPath": "/v"}]}, ['volumeMounts[0].name: Not found: "w"']),
        ({"volumeMounts": [{"name": "v"}]}, ["volumeMounts[0].mountPath: Required value"]),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/d"}, {"name": "claim", "mountPath": "/d"}]},
            ['volumeMounts[1].mountPath: Invalid value: "/d": must be unique'],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/d", "subPath": "/a/../b"}]},
            [
                'volumeMounts.subPath: Invalid value: "/a/../b": must be a relative path',
                "volumeMounts.subPath: Invalid value: \"/a/../b\": must not contain '..'",
            ],
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/d", "mountPropagation": "Bidirectional"}]},
            [
                (
                    "volumeMounts.mountPropagation: Forbidden: "
                    "Bidirectional mount propagation is available only to privileged containers"
                )
            ],
        ),
        ({"volumeDevices": [{"name": "claim", "devicePath": "/dev/a"}]}, []),
        (
            {"volumeDevices": [{"name": "v", "devicePath": "/dev/a"}]},
            [
                (
                    'volumeDevices[0].name: Invalid value: "v": '
                    "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
                )
            ],
        ),
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            ['resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
        ),
        (
            {"resources": {"requests": {"memory": "-1Gi"}}},
            ['resources.requests[memory]: Invalid value: "-1Gi": must be greater than or equal to 0'],
        ),
        (
            {"resources": {"requests": {"disk": "1"}}},
            [
                f'resources.requests[disk]: Invalid value: "disk": must be a standard resource {rest}'
                for rest in ("type or fully qualified", "for containers")
            ],
        ),
        (
            {"resources": {"limits": {"example.com/gpu": "500m"}}},
            [
                f'resources.{kind}[example.com/gpu]: Invalid value: "500m": must be an integer'
                for kind in ("limits", "requests")
            ],
        ),
        (
            {"resources": {"requests": {"example.com/gpu": "1"}, "limits": {"example.com/gpu": "2"}}},
            ['resources.requests: Invalid value: "1": must be equal to example.com/gpu limit of 2'],
        ),
        (
            {"resources": {"limits": {"hugepages-2Mi": "4Mi"}, "requests": {"hugepages-2Mi": "4Mi"}}},
            ["resources: Forbidden: HugePages require cpu or memory"],
        ),
        (
            {"resources": {"claims": [{"name": "gpu"}]}},
            [
                (
                    'resources.claims[0]: Not found: "gpu": '
                    "must be one of the names in pod.spec.resourceClaims which is empty"
                )
            ],
        ),
        ({"livenessProbe": {}}, ["livenessProbe: Required value: must specify a handler type"]),
        (
            {"livenessProbe": HANDLER | {"successThreshold": 2}},
            ["livenessProbe.successThreshold: Invalid value: 2: must be 1"],
        ),
        (
            {"readinessProbe": {"exec": {}, "httpGet": {"path": "/", "port": 0}}},
            [
                "readinessProbe.exec.command: Required value",
                "readinessProbe.httpGet: Forbidden: may not specify more than 1 handler type",
            ],
        ),
        (
            {"startupProbe": {"tcpSocket": {"port": "No_Name"}}},
            [
                (
                    'startupProbe.tcpSocket.port: Invalid value: "No_Name": '
                    "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)"
                )
            ],
        ),
        (
            {"lifecycle": {"preStop": {"sleep": {"seconds": 31}}}},
            [
                (
                    "lifecycle.preStop.sleep: Invalid value: 31: "
                    "must be non-negative and less than terminationGracePeriodSeconds (30)"
                )
            ],
        ),
        (
            {"securityContext": {"runAsUser": -1}},
            ["securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, inclusive"],
        ),
        (
            {"securityContext": {"allowPrivilegeEscalation": False, "privileged": True}},
            [
                (
                    'securityContext: Invalid value: {"allowPrivilegeEscalation":false,"privileged":true}: '
                    "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
                )
            ],
        ),
        (
            {"resizePolicy": [{"resourceName": "disk", "restartPolicy": "NotRequired"}]},
            ['resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"'],
        ),
    ],
)
def test_a_container_is_refused_for_each_reason(errors_of_pod, container: Spec, wrong: list[str]) -> None:
    assert errors_of_pod(VOLUMES, **container) == [f"spec.containers[0].{line}" for line in wrong]
