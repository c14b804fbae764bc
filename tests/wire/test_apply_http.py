"""PATCH with application/apply-patch+yaml, over HTTP: creation, changes, conflicts, lists, subresources."""

from typing import Any

import pytest

APPLY = "application/apply-patch+yaml"
CONFIG_MAP = "/api/v1/namespaces/default/configmaps/a"
DEPLOYMENT = "/apis/apps/v1/namespaces/default/deployments/web"
SERVICE = "/api/v1/namespaces/default/services/s"

NOT_AN_OBJECT = "error decoding YAML: error unmarshaling JSON: while decoding JSON: json:"


def config_map(data: dict[str, str] | None = None, **meta: Any) -> dict[str, Any]:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", **meta}}
    return body if data is None else body | {"data": data}


def deployment(*containers: dict[str, Any], **spec: Any) -> dict[str, Any]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": list(containers)}}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "template": template} | spec,
    }


async def applied(api: Any, path: str, body: Any, manager: str = "one", **query: str) -> Any:
    parameters = "&".join(f"{key}={value}" for key, value in {"fieldManager": manager, **query}.items())
    return await api.ask("PATCH", f"{path}?{parameters}", body, Content_Type=APPLY)


def owners(reply: Any) -> list[tuple[Any, ...]]:
    """The owners of an object, with their fields."""
    entries = reply.json["metadata"].get("managedFields") or []
    return [(each["manager"], each["operation"], each["fieldsV1"]) for each in entries]


async def test_an_apply_creates_an_object_that_its_manager_owns(api: Any) -> None:
    made = await applied(api, CONFIG_MAP, config_map({"x": "1"}))
    assert (made.code, made.json["data"]) == (201, {"x": "1"})
    assert owners(made) == [("one", "Apply", {"f:data": {"f:x": {}}})]
    assert (await api.get(CONFIG_MAP)).json == made.json


async def test_an_apply_of_the_same_writes_nothing(api: Any) -> None:
    made = await applied(api, CONFIG_MAP, config_map({"x": "1"}))
    again = await applied(api, CONFIG_MAP, config_map({"x": "1"}))
    assert (again.code, again.json) == (200, made.json)


async def test_a_field_that_is_given_up_goes_and_one_that_is_shared_stays(api: Any) -> None:
    await applied(api, CONFIG_MAP, config_map({"x": "1", "y": "2"}))
    shared = await applied(api, CONFIG_MAP, config_map({"y": "2"}), "two")
    assert owners(shared) == [
        ("two", "Apply", {"f:data": {"f:y": {}}}),
        ("one", "Apply", {"f:data": {"f:x": {}, "f:y": {}}}),
    ]
    left = await applied(api, CONFIG_MAP, config_map())
    assert (left.json["data"], owners(left)) == ({"y": "2"}, [("two", "Apply", {"f:data": {"f:y": {}}})])


async def test_a_field_of_others_is_a_conflict_unless_forced(api: Any) -> None:
    await api.make("a", data={"x": "1"})
    await applied(api, CONFIG_MAP, config_map({"y": "2"}), "two")
    refused = await applied(api, CONFIG_MAP, config_map({"x": "9", "y": "9"}))
    assert (refused.code, refused.json["reason"]) == (409, "Conflict")
    assert refused.message == (
        'Apply failed with 2 conflicts: conflicts with "Python" using v1:\n- .data.x\nconflicts with "two":\n- .data.y'
    )
    assert [(cause["reason"], cause["field"]) for cause in refused.json["details"]["causes"]] == [
        ("FieldManagerConflict", ".data.x"),
        ("FieldManagerConflict", ".data.y"),
    ]
    forced = await applied(api, CONFIG_MAP, config_map({"x": "9", "y": "9"}), force="true")
    assert (forced.code, forced.json["data"]) == (200, {"x": "9", "y": "9"})
    assert [owner for owner in owners(forced) if owner[0] == "two"] == []


async def test_a_dry_run_shows_the_outcome_and_stores_nothing(api: Any) -> None:
    shown = await applied(api, CONFIG_MAP, config_map({"x": "1"}), dryRun="All")
    assert (shown.code, shown.json["data"]) == (201, {"x": "1"})
    assert (await api.get(CONFIG_MAP)).code == 404


async def test_containers_and_ports_are_merged_by_their_keys(api: Any) -> None:
    web = {"name": "web", "image": "a:1", "ports": [{"containerPort": 80}]}
    made = await applied(api, DEPLOYMENT, deployment(web, replicas=2))
    assert (made.code, made.json["spec"]["strategy"]["type"]) == (201, "RollingUpdate")
    side = {"name": "side", "image": "b:1"}
    second = deployment({"name": "web", "ports": [{"containerPort": 81, "protocol": "TCP"}]}, side)
    both = await applied(api, DEPLOYMENT, second, "two")
    assert both.code == 200, both.text
    containers = both.json["spec"]["template"]["spec"]["containers"]
    assert [(each["name"], [port["containerPort"] for port in each.get("ports", ())]) for each in containers] == [
        ("web", [80, 81]),
        ("side", []),
    ]
    refused = await applied(api, DEPLOYMENT, deployment({"name": "web", "image": "a:2"}), "two")
    assert refused.message == (
        'Apply failed with 1 conflict: conflict with "one": .spec.template.spec.containers[name="web"].image'
    )
    alone = await applied(api, DEPLOYMENT, deployment(web), "one")
    assert alone.json["spec"]["replicas"] == 1, "what is given up comes back to its default"


async def test_the_status_is_applied_to_by_its_own_subresource(api: Any) -> None:
    await applied(api, DEPLOYMENT, deployment({"name": "web", "image": "a:1"}))
    body = deployment() | {"status": {"replicas": 3}}
    status = {**body, "spec": {}, "metadata": {"name": "web", "labels": {"l": "1"}}}
    reply = await applied(api, f"{DEPLOYMENT}/status", status, "two")
    assert (reply.code, reply.json["status"]["replicas"]) == (200, 3)
    assert "labels" not in reply.json["metadata"]
    assert owners(reply)[-1] == ("two", "Apply", {"f:status": {"f:replicas": {}}})
    main = await applied(api, DEPLOYMENT, deployment({"name": "web", "image": "a:1"}) | {"status": {"replicas": 9}})
    assert main.json["status"]["replicas"] == 3


async def test_the_scale_is_applied_to_and_owns_the_replicas(api: Any) -> None:
    await applied(api, DEPLOYMENT, deployment({"name": "web", "image": "a:1"}, replicas=2))
    scale = {"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 5}}
    refused = await applied(api, f"{DEPLOYMENT}/scale", scale, "two")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    forced = await applied(api, f"{DEPLOYMENT}/scale", scale, "two", force="true")
    assert (forced.code, forced.json["spec"]) == (200, {"replicas": 5})
    stored = await api.get(DEPLOYMENT)
    assert stored.json["spec"]["replicas"] == 5
    entries = {each["manager"]: each for each in stored.json["metadata"]["managedFields"]}
    assert "f:replicas" not in entries["one"]["fieldsV1"]["f:spec"]
    assert entries["two"]["fieldsV1"] == {"f:spec": {"f:replicas": {}}}
    assert entries["two"]["subresource"] == "scale"


POD = "/api/v1/namespaces/default/pods/p"


@pytest.mark.parametrize(
    ("subresource", "spec", "owned"),
    [
        (
            "ephemeralcontainers",
            {"ephemeralContainers": [{"name": "d", "image": "i"}]},
            {"f:ephemeralContainers": {'k:{"name":"d"}': {".": {}, "f:image": {}, "f:name": {}}}},
        ),
        (
            "resize",
            {"containers": [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "2"}}}]},
            {"f:containers": {'k:{"name":"a"}': {".": {}, "f:resources": {"f:requests": {"f:cpu": {}}}}}},
        ),
    ],
)
async def test_a_subresource_owns_what_it_can_set(api: Any, subresource: str, spec: Any, owned: Any) -> None:
    container = {"name": "a", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    await api.post("/api/v1/namespaces/default/pods", {"metadata": {"name": "p"}, "spec": {"containers": [container]}})
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "labels": {"x": "y"}}, "spec": spec}
    reply = await applied(api, f"{POD}/{subresource}", body, "two", force="true")
    assert reply.code == 200, reply.text
    assert owners(reply)[0] == ("two", "Apply", {"f:spec": owned})


async def test_the_versions_of_a_kind_have_their_own_fields(api: Any) -> None:
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers/h"

    def autoscaler(version: str, **spec: Any) -> dict[str, Any]:
        scaled = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "w"}
        head = {"apiVersion": f"autoscaling/{version}", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
        return head | {"spec": {"scaleTargetRef": scaled, **spec}}

    await applied(api, path.format("v2"), autoscaler("v2", maxReplicas=5))
    refused = await applied(api, path.format("v1"), autoscaler("v1", maxReplicas=6), "two")
    assert refused.message == 'Apply failed with 1 conflict: conflict with "one": .spec.maxReplicas'
    both = await applied(api, path.format("v1"), autoscaler("v1", maxReplicas=5, minReplicas=2), "two")
    assert [(each["manager"], each["apiVersion"]) for each in both.json["metadata"]["managedFields"]] == [
        ("one", "autoscaling/v2"),
        ("two", "autoscaling/v1"),
    ]
    alone = await applied(api, path.format("v1"), autoscaler("v1", maxReplicas=5), "two")
    assert alone.json["spec"]["minReplicas"] == 1


async def test_an_object_without_owners_belongs_to_whoever_was_before(api: Any) -> None:
    await api.make("a", data={"x": "1"})
    await api.patch(CONFIG_MAP, {"metadata": {"managedFields": [{}]}})
    assert "managedFields" not in (await api.get(CONFIG_MAP)).json["metadata"]
    reply = await applied(api, CONFIG_MAP, config_map({"y": "1"}))
    assert owners(reply) == [
        ("one", "Apply", {"f:data": {"f:y": {}}}),
        ("before-first-apply", "Update", {"f:data": {".": {}, "f:x": {}}}),
    ]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (config_map() | {"kind": "Secret"}, 400, "invalid object type: /v1, Kind=Secret"),
        (config_map() | {"apiVersion": "apps/v1"}, 400, "invalid object type: apps/v1, Kind=ConfigMap"),
        (config_map(managedFields=[]), 400, "metadata.managedFields must be nil"),
        (
            config_map() | {"daata": {}},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .daata: field not declared in schema",
        ),
        (
            config_map() | {"data": ["x"]},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .data: expected map, got &{[x]}",
        ),
        (
            config_map() | {"immutable": "yes"},
            500,
            "failed to create typed patch object (/a; /v1, Kind=ConfigMap): .immutable: expected boolean, got &{yes}",
        ),
        (
            config_map(name="b"),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
        (
            b"a: [",
            400,
            "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not find expected node content",
        ),
        (
            b"- a",
            400,
            f"{NOT_AN_OBJECT} cannot unmarshal array into Go value of type map[string]interface {{}}",
        ),
    ],
)
async def test_a_configuration_that_is_refused(api: Any, body: Any, code: int, message: str) -> None:
    reply = await applied(api, CONFIG_MAP, body)
    assert (reply.code, reply.message) == (code, message)


async def test_a_manager_has_to_be_named(api: Any) -> None:
    reply = await api.ask("PATCH", CONFIG_MAP, config_map(), Content_Type=APPLY)
    assert (reply.code, reply.message) == (
        422,
        'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    )


async def test_repeated_keys_warn_and_are_refused_if_asked_for(api: Any) -> None:
    body = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  x: '1'\n  x: '2'\n"
    warned = await applied(api, CONFIG_MAP, body)
    assert warned.headers.getall("Warning") == ['299 - "line 6: key \\"x\\" already set in map"']
    assert warned.json["data"] == {"x": "2"}
    strict = await applied(api, CONFIG_MAP, body, fieldValidation="Strict")
    assert strict.message == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 6: key "x" already set in map'
    )


async def test_an_uid_of_an_object_that_is_not_there_is_a_conflict(api: Any) -> None:
    reply = await applied(api, CONFIG_MAP, config_map(uid="u"))
    assert (reply.code, reply.json["reason"]) == (409, "Conflict")
    assert "uid mismatch: the provided object specified uid u, and no existing object was found" in reply.message


async def test_a_subresource_creates_nothing(api: Any) -> None:
    assert (await applied(api, f"{DEPLOYMENT}/status", deployment())).code == 404


async def test_cbor_is_not_served(api: Any) -> None:
    reply = await api.ask("PATCH", f"{CONFIG_MAP}?fieldManager=x", b"", Content_Type="application/apply-patch+cbor")
    assert (reply.code, reply.json["reason"]) == (415, "UnsupportedMediaType")


async def test_a_configuration_that_is_nested_too_deeply_is_refused(api: Any) -> None:
    deep = b"".join(b'{"a%d":' % i for i in range(400)) + b"1" + b"}" * 400
    reply = await applied(api, CONFIG_MAP, deep)
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")


async def test_owners_that_clients_made_up_do_no_harm(api: Any) -> None:
    await api.make("a", data={"x": "1"})
    owned: dict[str, Any] = {"f:apiVersion": {"f:x": {}}, "f:metadata": {"f:name": {}}, "f:zz": {"k:5": {}}}
    entry = {"manager": "one", "operation": "Apply", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": owned}
    await api.patch(CONFIG_MAP, {"metadata": {"managedFields": [entry]}})
    reply = await applied(api, CONFIG_MAP, config_map({"y": "1"}))
    assert (reply.code, reply.json["data"]) == (200, {"x": "1", "y": "1"})
    assert owners(reply) == [("one", "Apply", {"f:data": {"f:y": {}}})]
