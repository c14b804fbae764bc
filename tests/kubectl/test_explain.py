from typing import Any

import pytest

EXPLAINED: list[tuple[str, str]] = [
    (
        "explain pods",
        r"KIND: +Pod\nVERSION: +v1\n\nDESCRIPTION:\n +Pod is a collection of containers .*FIELDS:\n  apiVersion\t.*",
    ),
    (
        "explain pod.spec.containers.image",
        r"KIND: +Pod\nVERSION: +v1\n\nFIELD: image <string>\n.*Container image name\..*",
    ),
    (
        "explain deploy.spec --recursive",
        r"GROUP: +apps\n.*  selector\t<LabelSelector> -required-\n    matchExpressions\t.*",
    ),
    (
        "explain hpa --api-version=autoscaling/v1",
        r"GROUP: +autoscaling\nKIND: +HorizontalPodAutoscaler\nVERSION: +v1\n.*",
    ),
    ("explain hpa", r"GROUP: +autoscaling\nKIND: +HorizontalPodAutoscaler\nVERSION: +v2\n.*"),
    (
        "explain pods --output=plaintext-openapiv2",
        r"KIND: +Pod\nVERSION: +v1\n\nDESCRIPTION:\n +Pod is a collection of .*",
    ),
    (
        "explain deploy.spec --recursive --output=plaintext-openapiv2",
        r"KIND: +Deployment\nVERSION: +apps/v1\n.*   replicas\t<integer>\n.*",
    ),
    ("explain cm.data", r"KIND: +ConfigMap\nVERSION: +v1\n\nFIELD: data <map\[string\]string>\n.*"),
    ("explain ing.spec.rules.http.paths.pathType", r"GROUP: +networking.k8s.io\n.*FIELD: pathType <string>.*"),
    ("explain crd.spec.group", r"GROUP: +apiextensions.k8s.io\n.*FIELD: group <string>.*"),
    (
        "explain events.note --api-version=events.k8s.io/v1",
        r"GROUP: +events.k8s.io\nKIND: +Event\nVERSION: +v1\n\nFIELD: note <string>.*",
    ),
]


@pytest.mark.parametrize(("line", "says"), EXPLAINED)
def test_a_field_is_explained(reader: Any, line: str, says: str) -> None:
    reader.says(line, says)


REFUSED: list[tuple[str, str]] = [
    ("explain pod.spec.nothing", r'KIND: +Pod\nVERSION: +v1\n\nerror: field "nothing" does not exist'),
    ("explain nothing", r"(error: )?the server doesn't have a resource type \"nothing\""),
    ("explain pods --api-version=v9", r'error: couldn\'t find resource for "/v9, .*"'),
]


@pytest.mark.parametrize(("line", "says"), REFUSED)
def test_what_does_not_exist_is_not_explained(reader: Any, line: str, says: str) -> None:
    reader.refuses(line, says)


DISCOVERED: list[tuple[str, str]] = [
    ("api-versions", r"admissionregistration.k8s.io/v1\n.*\napps/v1\n.*\nstorage.k8s.io/v1\n.*v1"),
    (
        "api-resources --api-group=batch",
        r"NAME +SHORTNAMES +APIVERSION +NAMESPACED +KIND\ncronjobs +cj +batch/v1 +true +CronJob\njobs +.*",
    ),
    (
        "api-resources --api-group=apps -o wide",
        (
            r"NAME .* VERBS +CATEGORIES\n.*deployments +deploy +apps/v1 +true +Deployment +"
            r"create,delete,deletecollection,get,list,patch,update,watch +all\n.*"
        ),
    ),
    ("api-resources --categories=all --api-group= -o name", r"pods\nreplicationcontrollers\nservices"),
    (
        "api-resources --namespaced=false --api-group= -o name",
        r"componentstatuses\nnamespaces\nnodes\npersistentvolumes",
    ),
    ("api-resources --verbs=create --api-group=authorization.k8s.io -o name", r"localsubjectaccessreviews.*\n.*"),
    ("api-resources --cached --sort-by=kind", r"NAME .*\napiservices +.*"),
]


@pytest.mark.parametrize(("line", "says"), DISCOVERED)
def test_what_there_is_is_discovered(reader: Any, line: str, says: str) -> None:
    reader.says(line, says)


def test_discovery_is_remembered_and_asked_for_once(reader: Any) -> None:
    asked = [reader.run("get pods -v=6 --cache-dir=cache").err for _ in range(2)]

    assert "/apis" in asked[0]
    assert "/apis" not in asked[1]
