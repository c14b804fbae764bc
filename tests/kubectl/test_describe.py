from typing import Any

import pytest

DESCRIBED: list[tuple[str, str]] = [
    (
        "pod p",
        r"Name: +p\nNamespace: .*Labels: +app=a\n +tier=x\n.*Status: +Pending\n.*Image: +i\n.*Events: +<none>",
    ),
    ("svc s", r"Name: +s\n.*Selector: +app=a\nType: +ClusterIP\n.*IP: +None\n.*Port: +<unset> +80/TCP\n.*"),
    ("cm cm", r"Name: +cm\n.*Data\n====\nk:\n----\nv\n.*"),
    ("secret top", r"Name: +top\n.*Type: +Opaque\n\nData\n====\nk: +1 bytes"),
    ("pvc pvc", r"Name: +pvc\n.*Status: +Pending\n.*Used By: +<none>\n.*"),
    ("limits lr", r"Name: +lr\n.*Pod +cpu +- +1 +.*"),
    ("rc rc", r"Name: +rc\n.*Replicas: +0 current / 1 desired\n.*"),
    ("ds ds", r"Name: +ds\n.*Desired Number of Nodes Scheduled: 0\n.*"),
    ("sts sts", r"Name: +sts\n.*Replicas: +1 desired \| 0 total\n.*"),
    ("rs rs", r"Name: +rs\n.*Replicas: +0 current / 1 desired\n.*"),
    ("deploy d", r"Name: +d\n.*StrategyType: +RollingUpdate\n.*25% max unavailable, 25% max surge\n.*"),
    ("job j", r"Name: +j\n.*Completions: +1\nCompletion Mode: +NonIndexed\n.*"),
    ("cj cj", r"Name: +cj\n.*Concurrency Policy: +Allow\n.*Last Schedule Time: +<unset>\n.*"),
    ("ing ing", r"Name: +ing\n.*Default backend: +s:80 .*"),
    ("netpol np", r"Name: +np\n.*PodSelector: +a=b\n.*Policy Types: Ingress"),
    ("pdb pdb", r"Name: +pdb\n.*Min available: +1\n.*Allowed disruptions: +0\n.*"),
    ("role r", r"Name: +r\n.*pods +\[\] +\[\] +\[get\]"),
    ("rolebinding rb", r"Name: +rb\n.*Role:\n  Kind: +Role\n  Name: +r\nSubjects:\n.*User +u *"),
    ("hpa hpa", r"Name: +hpa\n.*Reference: +Deployment/d\n.*Max replicas: +3\n.*"),
    ("sa robot", r"Name: +robot\n.*Image pull secrets: +<none>\n.*"),
    (
        "ns default",
        r"Name: +default\nLabels: +kubernetes.io/metadata.name=default\n.*Status: +Active\n.*No LimitRange resource\.",
    ),
    ("endpointslice eps", r"Name: +eps\n.*AddressType: +IPv4\n.*Addresses: +10.0.0.1\n.*"),
    ("lease l", r"Name: +l\n.*Holder Identity: +me\n.*"),
    ("clusterrole view", r"Name: +view\nLabels: +.*bootstrapping=rbac-defaults\n.*PolicyRule:\n.*"),
]


@pytest.mark.parametrize(("what", "says"), DESCRIBED)
def test_a_description_is_that_of_a_real_cluster(furnished: Any, what: str, says: str) -> None:
    furnished.says(f"describe {what}", says)


def test_a_missing_object_cannot_be_described(furnished: Any) -> None:
    furnished.refuses("describe pod nobody", r'Error from server \(NotFound\): pods "nobody" not found')
