"""Answers that follow from a rule of upstream's handlers, whatever the kind, verb or parameter."""

import pytest

from apiserver.config import Config

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"
NO_NUMBER = 'strconv.ParseInt: parsing "": invalid syntax'
NOT_FOUND = "the server could not find the requested resource"
NOT_ALLOWED = "the server does not allow this method on the requested resource"
NO_TABLE = (
    "only the following media types are accepted: application/json, application/yaml, "
    "application/vnd.kubernetes.protobuf"
)
REVIEWS = "/apis/authorization.k8s.io/v1"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/default/deployments"
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
DEPLOYMENT = {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": TEMPLATE}}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", f"{CONFIG_MAPS}?limit="),
        ("GET", f"{CONFIG_MAPS}?timeoutSeconds="),
        ("GET", f"{CONFIG_MAPS}?watch=1&timeoutSeconds="),
        ("DELETE", f"{CONFIG_MAPS}?limit="),
        ("DELETE", f"{CONFIG_MAPS}/a?gracePeriodSeconds="),
        ("GET", "/api/v1/namespaces/default/pods/a/log?tailLines="),
    ],
)
async def test_an_empty_number_is_refused(api, method: str, path: str) -> None:
    reply = await api.ask(method, path)
    assert (reply.code, reply.message) == (400, NO_NUMBER)


async def test_invalid_list_options_come_before_unknown_fields(api) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?resourceVersionMatch=Exact&fieldSelector=x%3Dy")
    assert (reply.code, reply.json["details"]["kind"]) == (422, "ListOptions")


async def test_pods_are_selected_by_the_old_name_of_their_node(api) -> None:
    assert (await api.get("/api/v1/pods?fieldSelector=spec.host%3Da")).json["items"] == []


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", f"{REVIEWS}/subjectaccessreviews", 405),
        ("GET", f"{REVIEWS}/subjectaccessreviews/a", 404),
        ("POST", f"{REVIEWS}/subjectaccessreviews/a", 404),
        ("GET", f"{REVIEWS}/localsubjectaccessreviews", 404),
        ("POST", f"{REVIEWS}/localsubjectaccessreviews", 404),
        ("GET", f"{REVIEWS}/namespaces/default/localsubjectaccessreviews", 405),
        ("GET", f"{REVIEWS}/watch/subjectaccessreviews", 404),
        ("GET", "/api/v1/bindings", 404),
        ("GET", "/api/v1/namespaces/default/bindings", 405),
        ("GET", "/api/v1/watch/componentstatuses", 404),
        ("POST", "/api/v1/configmaps", 405),
        ("PUT", CONFIG_MAPS, 405),
    ],
)
async def test_a_path_that_no_verb_has_is_not_found(api, method: str, path: str, code: int) -> None:
    reply = await api.ask(method, path)
    assert (reply.code, reply.message) == (code, NOT_FOUND if code == 404 else NOT_ALLOWED)


@pytest.mark.parametrize(
    "path",
    [
        f"{REVIEWS}/subjectaccessreviews",
        f"{REVIEWS}/selfsubjectrulesreviews",
        "/apis/authentication.k8s.io/v1/tokenreviews",
        "/api/v1/namespaces/default/bindings",
        "/api/v1/namespaces/default/pods/none/binding",
        "/api/v1/namespaces/default/pods/none/eviction",
        "/api/v1/namespaces/default/serviceaccounts/none/token",
    ],
)
async def test_what_has_no_columns_is_no_table(api, path: str) -> None:
    reply = await api.post(path, b"not even JSON", Accept=TABLE)
    assert (reply.code, reply.message) == (406, NO_TABLE)


async def test_a_review_may_be_metadata_alone(api) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    reply = await api.post(f"{REVIEWS}/selfsubjectaccessreviews", review, Accept=METADATA)
    assert (reply.code, reply.json["kind"]) == (201, "PartialObjectMetadata")


async def test_a_scale_may_be_metadata_alone(api) -> None:
    made = (await api.post(DEPLOYMENTS, DEPLOYMENT)).json["metadata"]
    expected = {key: made[key] for key in ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")}
    reply = await api.get(f"{DEPLOYMENTS}/web/scale", Accept=METADATA)
    assert (reply.json["kind"], reply.json["metadata"]) == ("PartialObjectMetadata", expected)


async def test_the_options_of_a_table_are_checked_when_it_is_written(api) -> None:
    missing = await api.get(f"{CONFIG_MAPS}/a?includeObject=x", Accept=TABLE)
    refused = await api.post(f"{CONFIG_MAPS}?includeObject=x", {"metadata": {"name": "a"}}, Accept=TABLE)
    assert (missing.code, refused.code) == (404, 400)
    assert (await api.get(f"{CONFIG_MAPS}/a")).code == 200


async def test_some_kinds_answer_a_deletion_with_the_object(api) -> None:
    await api.post(CLASSES, {"metadata": {"name": "a"}, "provisioner": "example.com/p"})
    assert (await api.delete(f"{CLASSES}/a")).json["kind"] == "StorageClass"
    await api.make("a")
    assert (await api.delete(f"{CONFIG_MAPS}/a")).json["kind"] == "Status"
    schema = (await api.get("/openapi/v2")).json["paths"]
    answers = [
        schema[f"{path}/{{name}}"]["delete"]["responses"]["202"]["schema"]["$ref"]
        for path in (CLASSES, "/api/v1/namespaces/{namespace}/configmaps")
    ]
    assert answers == [
        "#/definitions/io.k8s.api.storage.v1.StorageClass",
        "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.Status",
    ]


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}", "Deployment"),
        ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/status", "Deployment"),
        ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", "Scale"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "Eviction"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "PodExecOptions"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "Pod"),
        ("/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token", "TokenRequest"),
    ],
)
async def test_the_name_in_a_path_is_described_by_the_kind_of_the_subresource(api, path: str, kind: str) -> None:
    document = (await api.get("/openapi/v2")).json
    item = document["paths"][path]
    given = [
        document["parameters"][each["$ref"].rpartition("/")[2]] if "$ref" in each else each
        for operation in (item, *(value for value in item.values() if isinstance(value, dict)))
        for each in operation.get("parameters", ())
    ]
    assert {each["description"] for each in given if each["name"] == "name"} == {f"name of the {kind}"}


async def test_a_deletion_that_waits_is_accepted_if_dependents_are_not_to_be_orphaned(api) -> None:
    await api.make("a")
    await api.patch(f"{CONFIG_MAPS}/a", {"metadata": {"finalizers": ["example.com/f"]}})
    codes = [(await api.delete(f"{CONFIG_MAPS}/a{query}")).code for query in ("?orphanDependents=false", "")]
    assert codes == [202, 200]


async def test_the_problems_of_a_propagation_policy_are_listed_together(api) -> None:
    refused = await api.delete(f"{CONFIG_MAPS}/a?propagationPolicy=Foo&orphanDependents=true")
    reasons = [cause["reason"] for cause in refused.json["details"]["causes"]]
    assert (refused.code, reasons) == (422, ["FieldValueInvalid", "FieldValueNotSupported"])


async def test_nothing_is_exported(api) -> None:
    await api.make("a")
    codes = [(await api.get(f"{CONFIG_MAPS}/a?export={value}")).code for value in ("", "true", "false")]
    assert codes == [400, 400, 200]


@pytest.mark.parametrize("query", ["uid=other", "resourceVersion=1"])
async def test_a_deletion_has_preconditions_in_its_query(api, query: str) -> None:
    await api.make("a")
    assert (await api.delete(f"{CONFIG_MAPS}/a?{query}")).code == 409


@pytest.mark.parametrize(
    ("patch", "why"),
    [
        ({"spec": "x"}, "cannot restore struct from: string"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"finalizers": "x"}}, "cannot restore slice from string"),
        ({"metadata": {"labels": {"a": 1}}}, "cannot convert int64 to string"),
    ],
)
async def test_a_strategic_patch_of_a_wrong_type_is_refused_by_the_converter(api, patch: object, why: str) -> None:
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    refused = await api.patch(f"{DEPLOYMENTS}/web", patch, kind="strategic-merge-patch")
    assert refused.code == 422
    assert refused.message.endswith(f": {why}")


async def test_a_strategic_patch_may_have_a_whole_number_with_a_point(api) -> None:
    await api.post(DEPLOYMENTS, DEPLOYMENT)
    patched = await api.patch(f"{DEPLOYMENTS}/web", {"spec": {"replicas": 3.0}}, kind="strategic-merge-patch")
    assert (patched.code, patched.json["spec"]["replicas"]) == (200, 3)


async def test_a_version_has_the_forms_of_upstream(api) -> None:
    version = (await api.get("/version")).json
    assert len(version["gitCommit"]) == 40
    assert int(version["gitCommit"], 16)
    assert version["goVersion"].startswith("go1.")
    assert (version["compiler"], version["gitTreeState"]) == ("gc", "clean")


@pytest.mark.parametrize(("release", "resizes"), [("1.25", False), ("1.32", False), ("1.33", True)])
async def test_a_release_has_the_subresources_of_its_time(opened, release: str, resizes: bool) -> None:  # noqa: FBT001
    async with opened(Config(kubernetes_version=release)) as api:
        names = [each["name"] for each in (await api.get("/api/v1")).json["resources"]]
        assert ("pods/resize" in names) is resizes
        networking = [each["name"] for each in (await api.get("/apis/networking.k8s.io/v1")).json["resources"]]
        assert "networkpolicies/status" not in networking
