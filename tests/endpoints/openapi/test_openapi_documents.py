"""OpenAPI documents of a release, of a custom resource, and the protobuf form read back."""

import importlib.util
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from apiserver.api.resources import Resource, ResourceTable, Subresource
from apiserver.endpoints.openapi.documents import OpenAPI
from apiserver.endpoints.openapi.gnostic import encode_document
from apiserver.endpoints.openapi.operations import group_tag
from apiserver.groups.rows import builtin_rows

WIDGET = "com.example.v1.Widget"
WIDGET_SCHEMA = {
    "type": "object",
    "properties": {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"$ref": "#/$defs/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"},
        "spec": {
            "type": "object",
            "properties": {
                "size": {"type": "string", "enum": ["s", "l"]},
                "maybe": {"type": "string", "nullable": True},
                "port": {"x-kubernetes-int-or-string": True, "anyOf": [{"type": "integer"}, {"type": "string"}]},
                "free": {
                    "type": "object",
                    "x-kubernetes-preserve-unknown-fields": True,
                    "properties": {"a": {"type": "string"}},
                },
            },
        },
    },
    "x-kubernetes-group-version-kind": [{"group": "example.com", "version": "v1", "kind": "Widget"}],
}


def widget(plural="widgets"):
    return Resource(
        group="example.com",
        version="v1",
        kind="Widget",
        plural=plural,
        singular="widget",
        namespaced=True,
        definition=WIDGET,
        storage_group="example.com",
        storage_version="v1",
        storage_prefix="example.com/widgets",
        subresources={"status": Subresource("status", ("get", "patch", "update"), "Widget", "example.com", "v1")},
    )


@pytest.fixture(scope="module")
def definitions():
    package = importlib.util.find_spec("kubernetes_validate")
    assert package is not None
    assert package.origin is not None
    folder = Path(package.origin).parent / "kubernetes-json-schema" / "v1.34.0-local"
    return json.loads((folder / "_definitions.json").read_bytes())["$defs"] | {WIDGET: WIDGET_SCHEMA}


@pytest.fixture(scope="module")
def served(definitions):
    return OpenAPI(ResourceTable([*builtin_rows(definitions), widget()]), definitions, minor=34)


@pytest.fixture(scope="module")
def v2(served):
    return json.loads(served.v2().body)


def v3_of(served, path):
    return json.loads(served.v3(path).body)


def named(schema, *names):
    for name in names:
        schema = schema["properties"][name]
    return schema


@pytest.mark.parametrize("path", ["api/v1", "apis/apps/v1", "apis/example.com/v1"])
def test_references_of_version_3_stay_within_the_document(served, path):
    document = v3_of(served, path)
    schemas = document["components"]["schemas"]
    targets = {reference.removeprefix("#/components/schemas/") for reference in references(document)}
    assert targets
    assert targets <= schemas.keys()


def test_references_of_version_2_stay_within_the_document(v2):
    targets = {reference.removeprefix("#/definitions/") for reference in references(v2)}
    assert targets
    assert targets <= v2["definitions"].keys()


def references(value):
    """All "$ref"s; JSONSchemaProps has a property of that name, whose value is no text."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key == "$ref" and isinstance(inner, str):
                yield inner
            else:
                yield from references(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from references(inner)


def test_no_schema_says_null_or_demands_an_api_version(served, v2):
    for body in (served.v2().body, served.v3("api/v1").body):
        assert b'"null"' not in body
    assert "enum" not in named(v2["definitions"]["io.k8s.api.core.v1.Pod"], "apiVersion")


@pytest.mark.parametrize(
    ("name", "two", "three"),
    [
        (
            "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
            {"type": "string", "format": "int-or-string"},
            {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
        ),
        (
            "io.k8s.apimachinery.pkg.api.resource.Quantity",
            {"type": "string"},
            {"oneOf": [{"type": "string"}, {"type": "number"}]},
        ),
    ],
)
def test_types_of_two_shapes_are_as_upstream_describes_them(served, v2, name, two, three):
    assert v2["definitions"][name] == two
    assert v3_of(served, "api/v1")["components"]["schemas"][name] == three


def test_version_3_gives_defaults_to_what_is_no_pointer(served):
    schemas = v3_of(served, "api/v1")["components"]["schemas"]
    metadata = named(schemas["io.k8s.api.core.v1.Pod"], "metadata")
    assert metadata["default"] == {}
    assert metadata["allOf"] == [{"$ref": "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"}]
    assert named(schemas["io.k8s.api.core.v1.Container"], "name")["default"] == ""
    assert named(schemas["io.k8s.api.core.v1.ContainerPort"], "containerPort")["default"] == 0
    assert "default" not in named(schemas["io.k8s.api.core.v1.Container"], "image")


def test_merge_keys_and_list_types_are_kept(v2):
    containers = named(v2["definitions"]["io.k8s.api.core.v1.PodSpec"], "containers")
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-patch-strategy"] == "merge"
    assert containers["x-kubernetes-list-type"] == "map"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


@pytest.mark.parametrize("parameter", ["dryRun", "fieldValidation", "fieldManager", "force"])
def test_a_patch_tells_kubectl_which_parameters_the_server_knows(served, v2, parameter):
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    for operation in (v2["paths"][path]["patch"], v3_of(served, "apis/apps/v1")["paths"][path]["patch"]):
        assert operation["x-kubernetes-group-version-kind"] == {"group": "apps", "version": "v1", "kind": "Deployment"}
        assert operation["x-kubernetes-action"] == "patch"
        assert (parameter, "query") in {(one["name"], one["in"]) for one in operation["parameters"]}


@pytest.mark.parametrize(
    ("path", "method", "identifier"),
    [
        ("/api/v1/namespaces/{namespace}/pods", "get", "listCoreV1NamespacedPod"),
        ("/api/v1/namespaces/{namespace}/pods", "post", "createCoreV1NamespacedPod"),
        ("/api/v1/namespaces/{namespace}/pods", "delete", "deleteCoreV1CollectionNamespacedPod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}", "put", "replaceCoreV1NamespacedPod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/log", "get", "readCoreV1NamespacedPodLog"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/exec", "post", "connectCoreV1PostNamespacedPodExec"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "createCoreV1NamespacedPodEviction"),
        ("/api/v1/nodes/{name}/proxy/{path}", "head", "connectCoreV1HeadNodeProxyWithPath"),
        ("/api/v1/pods", "get", "listCoreV1PodForAllNamespaces"),
        ("/api/v1/watch/pods", "get", "watchCoreV1PodListForAllNamespaces"),
        ("/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale", "get", "readAppsV1NamespacedDeploymentScale"),
        ("/apis/rbac.authorization.k8s.io/v1/clusterroles", "get", "listRbacAuthorizationV1ClusterRole"),
    ],
)
def test_operations_are_identified_as_upstream_does(v2, path, method, identifier):
    assert v2["paths"][path][method]["operationId"] == identifier


def test_no_two_operations_share_an_identifier(v2):
    identifiers = [
        operation["operationId"]
        for path in v2["paths"].values()
        for key, operation in path.items()
        if key != "parameters"
    ]
    assert len(identifiers) == len(set(identifiers))


def test_the_index_leads_to_every_document_by_its_hash(served):
    paths = json.loads(served.index().body)["paths"]
    assert {"api", "apis", "version", "api/v1", "apis/apps", "apis/apps/v1", "apis/example.com/v1"} <= paths.keys()
    assert "apis/example.com" not in paths
    for path, entry in paths.items():
        document = served.v3(path)
        assert entry == {"serverRelativeURL": f"/openapi/v3/{path}?hash={document.hash}"}
        assert document.etag == f'"{document.hash}"'
    assert served.v3("apis/nope.example.com/v1") is None


def test_a_custom_resource_is_described_as_far_as_version_2_goes(v2):
    spec = named(v2["definitions"][WIDGET], "spec")
    assert named(spec, "size") == {"type": "string", "enum": ["s", "l"]}
    assert named(spec, "maybe") == {}
    assert named(spec, "port") == {"x-kubernetes-int-or-string": True}
    assert named(spec, "free") == {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    listed = v2["definitions"][f"{WIDGET}List"]
    assert named(listed, "items")["items"] == {"$ref": f"#/definitions/{WIDGET}"}
    assert listed["x-kubernetes-group-version-kind"] == [
        {"group": "example.com", "version": "v1", "kind": "WidgetList"}
    ]


def test_custom_resources_take_no_strategic_merge_patch(v2):
    path = v2["paths"]["/apis/example.com/v1/namespaces/{namespace}/widgets/{name}"]
    assert path["patch"]["consumes"] == [
        "application/apply-patch+yaml",
        "application/json-patch+json",
        "application/merge-patch+json",
    ]


def test_only_what_changed_is_rebuilt_after_the_documents_are_invalidated(definitions):
    custom = dict(definitions)
    table = ResourceTable([*builtin_rows(definitions), widget()])
    served = OpenAPI(table, custom, minor=34)
    apps, widgets, everything = served.v3("apis/apps/v1"), served.v3("apis/example.com/v1"), served.v2()
    custom[WIDGET] = WIDGET_SCHEMA | {"description": "new"}
    assert served.v3("apis/example.com/v1") is widgets
    served.invalidate()
    assert served.v3("apis/apps/v1") is apps
    newer_widgets = served.v3("apis/example.com/v1")
    assert newer_widgets is not None
    assert widgets is not None
    assert newer_widgets.hash != widgets.hash
    assert served.v2().hash != everything.hash


def test_documents_of_what_is_gone_are_let_go(definitions):
    gone = widget()
    table = ResourceTable([*builtin_rows(definitions), gone])
    served = OpenAPI(table, definitions, minor=34)
    paths = ("apis/apps/v1", "apis/example.com/v1")
    apps, *made = (served.v3(path) for path in paths)
    index = served.index()
    table.remove(gone)
    served.invalidate()
    table.add(gone)
    served.invalidate()
    again = [served.v3(path) for path in paths]
    assert again[0] is apps
    assert served.index() is index
    assert again[1:] == made
    assert not any(one is other for one, other in zip(again[1:], made, strict=True)), "made anew: nobody kept them"


def test_a_custom_row_without_a_definition_is_in_no_document(definitions):
    release = {name: schema for name, schema in definitions.items() if name != WIDGET}
    customs: dict[str, Any] = {}
    table = ResourceTable([*builtin_rows(definitions), replace(widget(), custom=True)])
    served = OpenAPI(table, release, minor=34, customs=lambda: customs)
    assert served.v3("apis/example.com/v1") is served.v3("apis/example.com") is None
    assert not [path for path in json.loads(served.v2().body)["paths"] if "example.com" in path]
    customs[WIDGET] = WIDGET_SCHEMA
    served.invalidate()
    assert served.v3("apis/example.com/v1") is not None
    assert [path for path in json.loads(served.v2().body)["paths"] if "example.com" in path]


def fields(message):
    """(number, bytes or int) of each field of a protobuf message."""
    field, at = [], 0

    def varint():
        nonlocal at
        number = shift = 0
        while True:
            byte, at = message[at], at + 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while at < len(message):
        number, wire = divmod(varint(), 8)
        value = varint()
        if wire == 2:
            value, at = message[at : at + value], at + value
        field.append((number, value))
    return field


def dig(message, *numbers):
    for number in numbers:
        message = next(value for node, value in fields(message) if node == number)
    return message


def entries(message):
    return {dig(entry, 1).decode(): dig(entry, 2) for _, entry in fields(message)}


def test_the_protobuf_form_has_every_definition_and_path(served, v2):
    message = served.v2_protobuf().body
    assert dig(message, 1) == b"2.0"
    assert dig(message, 2, 2) == b"v1.34.0"
    assert list(entries(dig(message, 9))) == list(v2["definitions"])
    assert list(entries(dig(message, 8))) == list(v2["paths"])


def test_the_protobuf_form_of_a_schema_can_be_read_back(served):
    schema = entries(dig(served.v2_protobuf().body, 9))["io.k8s.api.core.v1.PodSpec"]
    containers = entries(dig(schema, 25))["containers"]
    assert dig(schema, 19) == b"containers"
    assert dig(containers, 22, 1) == b"array"
    assert dig(containers, 23, 1, 1) == b"#/definitions/io.k8s.api.core.v1.Container"
    extensions = {dig(one, 1): json.loads(dig(one, 2, 2)) for number, one in fields(containers) if number == 31}
    assert extensions[b"x-kubernetes-patch-merge-key"] == "name"
    assert extensions[b"x-kubernetes-list-map-keys"] == ["name"]


def test_the_protobuf_form_of_an_operation_can_be_read_back():
    operation = {
        "operationId": "patchIt",
        "parameters": [
            {"name": "dryRun", "in": "query", "type": "string"},
            {"name": "body", "in": "body", "required": True, "schema": {"$ref": "#/definitions/X"}},
        ],
        "responses": {"200": {"description": "OK", "schema": {"type": "string"}}},
        "x-kubernetes-action": "patch",
    }
    message = encode_document(
        {"paths": {"/x/{name}": {"patch": operation, "parameters": [{"name": "name", "in": "path"}]}}}
    )
    item = dig(message, 8, 2, 2)
    assert dig(message, 8, 2, 1) == b"/x/{name}"
    assert dig(item, 9, 1, 2, 4, 4) == b"name"
    query, body = (value for number, value in fields(dig(item, 8)) if number == 8)
    assert dig(query, 1, 2, 3, 4) == b"dryRun"
    assert dig(body, 1, 1, 5, 1) == b"#/definitions/X"
    assert dig(body, 1, 1, 4) == 1
    assert dig(item, 8, 9, 1, 1) == b"200"
    assert dig(item, 8, 9, 1, 2, 1, 2, 1, 22, 1) == b"string"
    assert dig(item, 8, 13, 1) == b"x-kubernetes-action"
    assert dig(item, 8, 13, 2, 2) == b'"patch"'


def names_of(parameters):
    return [one["name"] for one in parameters]


@pytest.mark.parametrize(
    ("path", "method", "description"),
    [
        ("/api/v1/namespaces/{namespace}/pods/{name}", "get", "read the specified Pod"),
        ("/api/v1/namespaces/{namespace}/pods/{name}", "patch", "partially update the specified Pod"),
        ("/api/v1/namespaces/{namespace}/pods", "get", "list or watch objects of kind Pod"),
        ("/api/v1/namespaces/{namespace}/pods", "delete", "delete collection of Pod"),
        ("/api/v1/componentstatuses", "get", "list objects of kind ComponentStatus"),
        ("/api/v1/namespaces/{namespace}/events", "post", "create an Event"),
        ("/api/v1/namespaces/{namespace}/endpoints", "post", "create Endpoints"),
        ("/apis/networking.k8s.io/v1/ingressclasses", "post", "create an IngressClass"),
        ("/api/v1/namespaces/{namespace}/pods/{name}/eviction", "post", "create eviction of a Pod"),
        (
            "/apis/apps/v1/namespaces/{namespace}/deployments/{name}/scale",
            "put",
            "replace scale of the specified Deployment",
        ),
        ("/apis/apps/", "get", "get information of a group"),
        ("/apis/example.com/v1/namespaces/{namespace}/widgets", "get", "list objects of kind Widget"),
        (
            "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}/status",
            "get",
            "read status of the specified Widget",
        ),
    ],
)
def test_operations_are_described_as_upstream_does(v2, path, method, description):
    assert v2["paths"][path][method]["description"] == description


def test_what_all_operations_of_a_path_take_stands_beside_them(served, v2):
    path = "/api/v1/namespaces/{namespace}/configmaps/{name}"
    for item in (v2["paths"][path], v3_of(served, "api/v1")["paths"][path]):
        assert names_of(item["parameters"]) == ["name", "namespace", "pretty"]
        assert "parameters" not in item["get"]
        assert [name for name in names_of(item["put"]["parameters"]) if name != "body"] == [
            "dryRun",
            "fieldManager",
            "fieldValidation",
        ]
    alone = v2["paths"]["/api/v1/configmaps"]
    assert alone.keys() == {"parameters", "get"}
    assert {"limit", "watch", "shardSelector"} <= {*names_of(alone["parameters"])}


def test_a_patch_says_of_its_manager_that_apply_needs_one(v2):
    item = v2["paths"]["/api/v1/namespaces/{namespace}/configmaps/{name}"]
    words = {
        method: next(one["description"] for one in item[method]["parameters"] if one["name"] == "fieldManager")
        for method in ("put", "patch")
    }
    assert words["patch"].startswith(words["put"])
    assert "required for apply requests" in words["patch"]
    assert "required for apply requests" not in words["put"]


def test_custom_kinds_are_told_by_a_builder_of_their_own(served):
    document = v3_of(served, "apis/example.com/v1")
    assert document["info"] == {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
    assert document["components"].keys() == {"schemas"}
    root = "/apis/example.com/v1"
    assert sorted(document["paths"]) == [
        f"{root}/namespaces/{{namespace}}/widgets",
        f"{root}/namespaces/{{namespace}}/widgets/{{name}}",
        f"{root}/namespaces/{{namespace}}/widgets/{{name}}/status",
        f"{root}/widgets",
    ]
    many, one = (document["paths"][f"{root}/namespaces/{{namespace}}/widgets{tail}"] for tail in ("", "/{name}"))
    assert "requestBody" not in many["delete"]
    assert {"watch", "allowWatchBookmarks"} <= {*names_of(many["delete"]["parameters"])}
    assert many["post"]["requestBody"]["content"].keys() == {"application/json", "application/yaml"}
    assert many["post"]["requestBody"]["required"] is True
    assert "required" not in one["delete"]["requestBody"]
    assert one["patch"]["responses"].keys() == {"200", "401"}
    assert names_of(one["get"]["parameters"]) == ["resourceVersion"]
    assert many["get"]["responses"]["200"]["content"].keys() == {"application/json", "application/yaml"}


def test_only_types_of_go_have_zero_values_for_defaults(served):
    schemas = v3_of(served, "apis/example.com/v1")["components"]["schemas"]
    assert "default" not in named(schemas[WIDGET], "metadata")
    assert "default" not in named(schemas[f"{WIDGET}List"], "metadata")
    assert named(schemas[f"{WIDGET}List"], "items")["items"] == {"$ref": f"#/components/schemas/{WIDGET}"}
    assert schemas[f"{WIDGET}List"]["description"] == "WidgetList is a list of Widget"
    built_in = v3_of(served, "api/v1")["components"]["schemas"]
    assert named(built_in["io.k8s.api.core.v1.PodList"], "items")["items"]["default"] == {}


@pytest.mark.parametrize(
    ("group", "version", "tag"),
    [
        ("", "v1", "core_v1"),
        ("rbac.authorization.k8s.io", "v1beta1", "rbacAuthorization_v1beta1"),
        ("my-shop.example.com", "v1", "myShopExampleCom_v1"),
        ("1a.example.com", "v1", "AExampleCom_v1"),
        ("a1b.Example", "v2alpha1", "a1bExample_v2alpha1"),
        ("apps", "", "apps"),
    ],
)
def test_a_tag_is_the_group_in_camel_case(group, version, tag):
    assert group_tag(group, version) == tag


def test_an_identifier_has_capitals_where_words_begin(definitions):
    row = replace(widget(), group="x-1.2b.example.com", storage_group="x", kind="Widget", list_kind="Widgetry")
    served = OpenAPI(ResourceTable([*builtin_rows(definitions), row]), definitions, minor=34)
    document = v3_of(served, "apis/x-1.2b.example.com/v1")
    operation = document["paths"]["/apis/x-1.2b.example.com/v1/widgets"]["get"]
    assert operation["operationId"] == "listX12bExampleComV1WidgetForAllNamespaces"
    assert "com.example.v1.Widgetry" in document["components"]["schemas"]


@pytest.mark.parametrize(
    ("part", "method", "parameter", "words"),
    [
        ("pods/{name}/exec", "get", "container", "Container in which to execute the command."),
        ("pods/{name}/attach", "post", "container", "The container in which to execute the command."),
        ("pods/{name}/log", "get", "container", "The container for which to stream logs."),
        ("pods/{name}/log", "get", "pretty", "If 'true', then the output is pretty printed."),
        ("pods/{name}/portforward", "post", "ports", "List of ports to forward"),
        ("pods/{name}/proxy", "head", "path", "Path is the URL path to use for the current proxy request to pod."),
        ("services/{name}/proxy", "get", "path", "Path is the part of URLs that include service endpoints"),
    ],
)
def test_connections_describe_their_own_options(served, part, method, parameter, words):
    item = v3_of(served, "api/v1")["paths"][f"/api/v1/namespaces/{{namespace}}/{part}"]
    known = {one["name"]: one["description"] for one in item["parameters"] + item[method].get("parameters", [])}
    assert known[parameter].startswith(words)
