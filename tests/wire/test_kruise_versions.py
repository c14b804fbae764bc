"""OpenKruise's workloads over HTTP in both of their versions: what is written in one is read in the other."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.config import Config

Api = Any
OLD = "/apis/apps.kruise.io/v1alpha1/namespaces/default"
NEW = "/apis/apps.kruise.io/v1beta1/namespaces/default"
LABELS = {"app": "web"}
PODS = {"metadata": {"labels": LABELS}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}


def workload(kind: str, version: str = "v1alpha1", **spec: Any) -> dict[str, Any]:
    whole = {"selector": {"matchLabels": LABELS}, "template": PODS} | spec
    return {"apiVersion": f"apps.kruise.io/{version}", "kind": kind, "metadata": {"name": "web"}, "spec": whole}


@pytest.fixture
async def kruise(opened: Any) -> AsyncIterator[Api]:
    """A server that has OpenKruise's workloads."""
    async with opened(Config(kruise=True)) as api:
        yield api


async def test_a_clone_set_as_released_versions_write_it_is_updated_as_it_says(kruise: Api) -> None:
    strategy = {"type": "InPlaceIfPossible", "maxUnavailable": 2, "partition": "50%"}
    reply = await kruise.post(f"{OLD}/clonesets", workload("CloneSet", updateStrategy=strategy))
    assert reply.code == 201, reply.text
    assert reply.json["spec"]["updateStrategy"].items() >= (strategy | {"maxSurge": 0}).items()
    new = (await kruise.get(f"{NEW}/clonesets/web")).json
    assert new["apiVersion"] == "apps.kruise.io/v1beta1"
    assert new["spec"]["updateStrategy"]["type"] == "RollingUpdate"
    rolling = {"podUpdatePolicy": "InPlaceIfPossible", "maxUnavailable": 2, "partition": "50%", "maxSurge": 0}
    assert rolling.items() <= new["spec"]["updateStrategy"]["rollingUpdate"].items()
    assert new["spec"]["scaleStrategy"] == {"enablePVCReuse": True}
    assert (await kruise.get(f"{OLD}/clonesets")).json["items"][0]["spec"]["updateStrategy"]["type"] == strategy["type"]


async def test_each_version_of_a_clone_set_refuses_what_only_the_other_knows(kruise: Api) -> None:
    strict = "?fieldValidation=Strict"
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    reply = await kruise.post(f"{OLD}/clonesets{strict}", workload("CloneSet", updateStrategy=strategy))
    assert (reply.code, 'unknown field "spec.updateStrategy.rollingUpdate"' in reply.message) == (400, True)
    reply = await kruise.post(f"{NEW}/clonesets", workload("CloneSet", "v1beta1", updateStrategy={"type": "ReCreate"}))
    assert reply.code == 422
    assert [(each["field"], each["message"]) for each in reply.json["details"]["causes"]] == [
        ("spec.updateStrategy.type", "Invalid value: \"ReCreate\": must be 'RollingUpdate' or 'OnDelete'")
    ]


async def test_a_change_in_one_version_keeps_what_both_know(kruise: Api) -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"podUpdatePolicy": "InPlaceOnly", "partition": 3}}
    await kruise.post(f"{NEW}/clonesets", workload("CloneSet", "v1beta1", updateStrategy=strategy))
    reply = await kruise.patch(f"{OLD}/clonesets/web", {"spec": {"updateStrategy": {"partition": 1}}})
    assert reply.code == 200, reply.text
    rolling = (await kruise.get(f"{NEW}/clonesets/web")).json["spec"]["updateStrategy"]["rollingUpdate"]
    assert (rolling["podUpdatePolicy"], rolling["partition"]) == ("InPlaceOnly", 1)
    reply = await kruise.patch(f"{OLD}/clonesets/web/scale", {"spec": {"replicas": 7}})
    assert (reply.code, (await kruise.get(f"{NEW}/clonesets/web")).json["spec"]["replicas"]) == (200, 7)


async def test_an_old_stateful_set_has_no_reserved_ordinals(kruise: Api) -> None:
    made = workload("StatefulSet", "v1beta1", reserveOrdinals=[1], serviceName="web")
    assert (await kruise.post(f"{NEW}/statefulsets", made)).code == 201
    spec = (await kruise.get(f"{OLD}/statefulsets/web")).json["spec"]
    assert "reserveOrdinals" not in spec
    assert spec["serviceName"] == "web"
    assert (await kruise.get(f"{NEW}/statefulsets/web")).json["spec"]["reserveOrdinals"] == [1]


async def test_the_status_of_a_united_deployment_is_told_as_each_version_has_it(kruise: Api) -> None:
    template = {"deploymentTemplate": {"metadata": {"labels": LABELS}, "spec": {"template": PODS}}}
    made = workload("UnitedDeployment", template=template, topology={"subsets": [{"name": "a"}]})
    assert (await kruise.post(f"{OLD}/uniteddeployments", made)).code == 201
    entry = {"name": "a", "replicas": 3, "readyReplicas": 2, "partition": 1}
    status = {"replicas": 3, "updatedReplicas": 2, "currentRevision": "web-1", "updatedRevision": "web-2"}
    change = {"status": status | {"subsetStatuses": [entry]}}
    assert (await kruise.patch(f"{NEW}/uniteddeployments/web/status", change)).code == 200
    body = (await kruise.get(f"{OLD}/uniteddeployments/web")).json["status"]
    assert body["subsetReplicas"] == {"a": 3}
    assert body["updateStatus"] == {"updatedRevision": "web-2", "currentPartitions": {"a": 1}}
    assert "updatedRevision" not in body
    body = (await kruise.get(f"{NEW}/uniteddeployments/web")).json["status"]
    assert body == change["status"]


MORE: dict[str, Obj] = {
    "CloneSet": {},
    "StatefulSet": {"volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {}}]},
    "UnitedDeployment": {
        "template": {"statefulSetTemplate": {"metadata": {"labels": LABELS}, "spec": {"template": PODS}}},
        "topology": {"subsets": [{"name": "a", "maxReplicas": 1}, {"name": "b"}]},
    },
}


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
@pytest.mark.parametrize("kind", MORE)
async def test_what_is_written_again_without_what_was_filled_in_is_no_change(
    kruise: Api, kind: str, version: str
) -> None:
    path = f"/apis/apps.kruise.io/{version}/namespaces/default/{kind.lower()}s"
    made = workload(kind, version, **MORE[kind])
    first = await kruise.post(path, made)
    assert first.code == 201, first.text
    meta = {"name": "web", "resourceVersion": first.version}
    again = await kruise.put(f"{path}/web", made | {"metadata": meta})
    assert (again.code, again.json["metadata"]["generation"]) == (200, 1), again.text
    assert again.json["spec"] == first.json["spec"]
