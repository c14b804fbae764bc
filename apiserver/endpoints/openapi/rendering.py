"""Renders operations and schemas as a document of OpenAPI version 2 or 3."""

from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from apiserver.api.meta import Obj
from apiserver.endpoints.openapi.operations import OPTIONS, Operation
from apiserver.endpoints.openapi.parameters import path_parameter, query_parameter
from apiserver.endpoints.openapi.schemas import reachable, version_2, version_3
from apiserver.endpoints.openapi.standard_parameters import Parameter

BEARER = {"type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"}
CUSTOM: Obj = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
"""The info of a document that has only custom resources."""
UNAUTHORIZED = {"401": {"description": "Unauthorized"}}


@dataclass(frozen=True, slots=True)
class Dialect:
    """The differences between the two versions.

    Attributes:
        schemas: the prefix of references.
        schema: (name, definitions, whether it is custom) → the definition of that name.
        parameter: (parameter) → its type.
        body: (operation, schema of its body) → the operation's fields for it.
        answer: (operation, schema of its answer) → the fields of a response.
        document: (info, paths, schemas) → the document; the info is CUSTOM if it has only custom resources.
    """

    schemas: str
    schema: Callable[[str, Mapping[str, Obj], bool], Obj]
    parameter: Callable[[Parameter], Obj]
    body: Callable[[Operation, Obj], Obj]
    answer: Callable[[Operation, Obj], Obj]
    document: Callable[[Obj, Obj, Obj], Obj]


def _required(operation: Operation) -> Obj:
    """Return the field `required` of an operation's body; options are optional and lack the field."""
    return {} if operation.body == OPTIONS else {"required": True}


V2 = Dialect(
    schemas="#/definitions/",
    schema=version_2,
    parameter=lambda parameter: {"type": parameter.type, "uniqueItems": True},
    body=lambda operation, schema: {
        "parameters": [{"name": "body", "in": "body", **_required(operation), "schema": schema}]
    },
    answer=lambda _operation, schema: {"schema": schema},
    document=lambda info, paths, schemas: {
        "swagger": "2.0",
        "info": info,
        "paths": paths,
        "definitions": schemas,
        "securityDefinitions": {"BearerToken": BEARER},
        "security": [{"BearerToken": []}],
    },
)
V3 = Dialect(
    schemas="#/components/schemas/",
    schema=version_3,
    parameter=lambda parameter: {"schema": {"type": parameter.type, "uniqueItems": True}},
    body=lambda operation, schema: {
        "requestBody": {
            "content": {kind: {"schema": schema} for kind in operation.consumes},
            **_required(operation),
        }
    },
    answer=lambda operation, schema: {"content": {kind: {"schema": schema} for kind in operation.produces}},
    document=lambda info, paths, schemas: {
        "openapi": "3.0.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": schemas} | ({} if info == CUSTOM else {"securitySchemes": {"BearerToken": BEARER}}),
    },
)


def rendered(
    operations: Iterable[Operation],
    *,
    dialect: Dialect,
    definitions: Mapping[str, Obj],
    customs: Container[str],
    names: Iterable[str],
    info: Obj,
) -> Obj:
    """Return the document of these operations, with the schemas that they reach.

    Args:
        operations: the operations to describe.
        dialect: V2 or V3.
        definitions: the release's definitions and those of custom resources.
        customs: the names of the latter, whose schemas are rendered as they are.
        names: definitions to add to those that the operations refer to.
        info: title and version.
    """
    paths: dict[str, list[Operation]] = {}
    used = set(names)
    for operation in operations:
        used.update((operation.body, operation.answer))
        paths.setdefault(operation.path, []).append(operation)
    schemas = {name: dialect.schema(name, definitions, name in customs) for name in reachable(used, definitions)}
    return dialect.document(info, {path: _path_item(paths[path], dialect) for path in sorted(paths)}, schemas)


def _path_item(operations: list[Operation], dialect: Dialect) -> Obj:
    """Return the path item of operations; query parameters that all of them share are listed once, on the item."""
    first = operations[0]
    common = frozenset.intersection(*(frozenset(operation.query) for operation in operations))
    shared = _path_parameters(first, dialect)
    shared += [_query_parameter(name, first, dialect) for name in common]
    item: Obj = {"parameters": _in_order(shared)} if shared else {}
    return item | {operation.method: _operation(operation, dialect, common) for operation in operations}


def _in_order(parameters: list[Obj]) -> list[Obj]:
    return sorted(parameters, key=lambda parameter: (parameter["name"], parameter["in"]))


def _operation(operation: Operation, dialect: Dialect, common: frozenset[str]) -> Obj:
    answer = {"$ref": f"{dialect.schemas}{operation.answer}"} if operation.answer else {"type": "string"}
    content = dialect.answer(operation, answer)
    own = [_query_parameter(name, operation, dialect) for name in operation.query if name not in common]
    fields: Obj = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.identifier,
        "parameters": own,
        "responses": {str(code): {"description": HTTPStatus(code).phrase, **content} for code in operation.codes}
        | UNAUTHORIZED,
    }
    if dialect is V2:
        fields |= {"consumes": list(operation.consumes), "produces": list(operation.produces)}
    if operation.body:
        body = dialect.body(operation, {"$ref": f"{dialect.schemas}{operation.body}"})
        fields |= body | {"parameters": _in_order(own + body.get("parameters", []))}
    if not fields["parameters"]:
        del fields["parameters"]
    if operation.kind:
        fields["x-kubernetes-action"] = operation.action
        fields["x-kubernetes-group-version-kind"] = dict(zip(("group", "version", "kind"), operation.kind, strict=True))
    return fields


def _path_parameters(operation: Operation, dialect: Dialect) -> list[Obj]:
    return [
        _parameter(name, path_parameter(name, operation.owner), dialect=dialect) | {"in": "path", "required": True}
        for name in operation.path_names
    ]


def _query_parameter(name: str, operation: Operation, dialect: Dialect) -> Obj:
    return _parameter(name, query_parameter(name, operation.method, operation.options), dialect=dialect)


def _parameter(name: str, parameter: Parameter, *, dialect: Dialect) -> Obj:
    return {"name": name, "in": "query", "description": parameter.description} | dialect.parameter(parameter)
