"""Deployments and ReplicaSets for the Deployment controller."""

from collections.abc import Callable
from typing import Any

import pytest

from controller_manager.controllers.deployment.controller import SPEC
from controller_manager.reconcile.contract import Create, Update
from controller_manager.reconcile.kinds import DEPLOYMENT, POD, REPLICA_SET
from controller_manager.reconcile.times import format_time

DESIRED, MOST = "deployment.kubernetes.io/desired-replicas", "deployment.kubernetes.io/max-replicas"
REVISION = "deployment.kubernetes.io/revision"
CREATED = 1_700_000_000.0


def template(image: str, **spec: Any) -> Any:
    return {
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": image}], "restartPolicy": "Always"} | spec,
    }


@pytest.fixture
def make_deployment() -> Callable[..., Any]:
    """make_deployment(image, replicas=…, surge=…, unavailable=…, annotations=…, status=…, **of the spec)."""

    def make(image="web:1", *, replicas=10, surge="25%", unavailable="25%", annotations=None, status=None, **spec):
        rolling = {"maxSurge": surge, "maxUnavailable": unavailable}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "web",
                "namespace": "default",
                "uid": "uid-web",
                "resourceVersion": "900",
                "generation": 3,
                "creationTimestamp": format_time(CREATED),
                "annotations": annotations or {},
            },
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {"app": "web"}},
                "strategy": {"type": "RollingUpdate", "rollingUpdate": rolling},
                "template": template(image),
                "progressDeadlineSeconds": 600,
                "revisionHistoryLimit": 10,
            }
            | spec,
            "status": status or {},
        }

    return make


@pytest.fixture
def make_set() -> Callable[..., Any]:
    """make_set(number, size, available=…, …): the ReplicaSet "web-NUMBER" of image "web:NUMBER", by default all well.

    `told` is spec.replicas and the most pods that there might be, as of its last resizing.
    """

    def make(
        number, size, available=None, *, pods=None, revision=None, desired=None, owner="uid-web", status=None, **spec
    ):
        ready = size if available is None else available
        annotations = {REVISION: str(number if revision is None else revision)}
        if desired:
            annotations |= {DESIRED: str(desired[0]), MOST: str(desired[1])}
        reference = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": owner, "controller": True}
        marked = template(f"web:{number}")
        marked["metadata"]["labels"]["pod-template-hash"] = str(number)
        counts = {"replicas": size if pods is None else pods, "readyReplicas": ready, "availableReplicas": ready}
        return {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"web-{number}",
                "namespace": "default",
                "uid": f"uid-web-{number}",
                "resourceVersion": str(number),
                "generation": 1,
                "creationTimestamp": format_time(CREATED + number),
                "labels": marked["metadata"]["labels"],
                "annotations": annotations,
                "ownerReferences": [reference | {"blockOwnerDeletion": True}] if owner else [],
            },
            "spec": {
                "replicas": size,
                "selector": {"matchLabels": {"app": "web", "pod-template-hash": str(number)}},
                "template": marked,
            }
            | spec,
            "status": counts | {"observedGeneration": 1, "terminatingReplicas": 0} | (status or {}),
        }

    return make


@pytest.fixture
def sizes() -> Callable[[Any], dict[str, int]]:
    """sizes(rehearsal): the sizes that ReplicaSets were given by PUT or POST, in order."""

    def of(done: Any) -> dict[str, int]:
        writes = [
            request
            for request in done.requests()
            if isinstance(request, (Create, Update)) and request.kind is REPLICA_SET
        ]
        return {request.obj["metadata"]["name"]: request.obj["spec"]["replicas"] for request in writes}

    return of


@pytest.fixture
def run(reconcile):
    """run(deployment, sets, pods, answers, …): what the controller does about that Deployment."""

    def of(deployment, sets=(), pods=(), answers=lambda _: None, **more):
        return reconcile(SPEC, "default/web", {DEPLOYMENT: [deployment], REPLICA_SET: sets, POD: pods}, answers, **more)

    return of


@pytest.fixture
def statuses() -> Callable[[Any], list[Any]]:
    """statuses(rehearsal): those of the Deployment that were written, in order."""

    def of(done: Any) -> list[Any]:
        return [update.obj["status"] for update in done.of(Update) if update.kind is DEPLOYMENT and update.subresource]

    return of


@pytest.fixture
def progress() -> Callable[[Any], str]:
    """progress(status): "STATUS/REASON: MESSAGE" of the condition Progressing, or ""."""

    def of(status: Any, type_: str = "Progressing") -> str:
        for condition in status.get("conditions", ()):
            if condition["type"] == type_:
                return f"{condition['status']}/{condition['reason']}: {condition['message']}"
        return ""

    return of
