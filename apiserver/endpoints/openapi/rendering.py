"""Operations and schemas put together into a document, in the dialect of OpenAPI version 2 or 3."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus

from apiserver.api.meta import Obj
from apiserver.endpoints.openapi.operations import OPTIONS, Operation
from apiserver.endpoints.openapi.parameters import PARAMETERS, Parameter, path_parameter
from apiserver.endpoints.openapi.schemas import reachable, version_2, version_3

BEARER = {"type": "apiKey", "description": "Bearer Token authentication", "name": "authorization", "in": "header"}
UNAUTHORIZED = {"401": {"description": "Unauthorized"}}


@dataclass(frozen=True, slots=True)
class Dialect:
    """What the two versions write differently.

    Attributes:
        schemas: where references point.
        schema: (name, definitions) → the definition of that name.
        parameter: (parameter) → how its type is said.
        body: (operation, schema of its body) → what the operation says of it.
        answer: (operation, schema of its answer) → what a response says of it.
        document: (info, paths, schemas) → the whole.
    """

    schemas: str
    schema: Callable[[str, Mapping[str, Obj]], Obj]
    parameter: Callable[[Parameter], Obj]
    body: Callable[[Operation, Obj], Obj]
    answer: Callable[[Operation, Obj], Obj]
    document: Callable[[Obj, Obj, Obj], Obj]


V2 = Dialect(
    schemas="#/definitions/",
    schema=version_2,
    parameter=lambda parameter: {"type": parameter.type, "uniqueItems": True},
    body=lambda operation, schema: {
        "parameters": [{"name": "body", "in": "body", "required": operation.body != OPTIONS, "schema": schema}]
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
            "required": operation.body != OPTIONS,
        }
    },
    answer=lambda operation, schema: {"content": {kind: {"schema": schema} for kind in operation.produces}},
    document=lambda info, paths, schemas: {
        "openapi": "3.0.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {"BearerToken": BEARER}},
    },
)


def rendered(
    operations: Iterable[Operation],
    *,
    dialect: Dialect,
    definitions: Mapping[str, Obj],
    names: Iterable[str],
    release: str,
) -> Obj:
    """The document of these operations, with the schemas that they reach.

    Args:
        operations: what it is about.
        dialect: V2 or V3.
        definitions: the release's definitions and those of custom resources.
        names: definitions to describe beside those that the operations name.
        release: "v1.34.0".
    """
    paths: dict[str, Obj] = {}
    wanted = set(names)
    for operation in operations:
        wanted.update((operation.body, operation.answer))
        path = paths.setdefault(operation.path, {"parameters": _path_parameters(operation, dialect)})
        path[operation.method] = _operation(operation, dialect)
    schemas = {name: dialect.schema(name, definitions) for name in reachable(wanted, definitions)}
    info = {"title": "Kubernetes", "version": release}
    return dialect.document(info, {path: paths[path] for path in sorted(paths)}, schemas)


def _operation(operation: Operation, dialect: Dialect) -> Obj:
    answer = {"$ref": f"{dialect.schemas}{operation.answer}"} if operation.answer else {"type": "string"}
    said = dialect.answer(operation, answer)
    made: Obj = {
        "tags": [operation.tag],
        "description": operation.description,
        "operationId": operation.identifier,
        "parameters": [_parameter(name, PARAMETERS[name], dialect=dialect) for name in operation.query],
        "responses": {str(code): {"description": HTTPStatus(code).phrase, **said} for code in operation.codes}
        | UNAUTHORIZED,
    }
    if dialect is V2:
        made |= {"consumes": list(operation.consumes), "produces": list(operation.produces)}
    if operation.body:
        body = dialect.body(operation, {"$ref": f"{dialect.schemas}{operation.body}"})
        made |= body | {"parameters": made["parameters"] + body.get("parameters", [])}
    if operation.kind:
        made["x-kubernetes-action"] = operation.action
        made["x-kubernetes-group-version-kind"] = dict(zip(("group", "version", "kind"), operation.kind, strict=True))
    return made


def _path_parameters(operation: Operation, dialect: Dialect) -> list[Obj]:
    kind = operation.kind[2] if operation.kind else ""
    return [
        _parameter(name, path_parameter(name, kind), dialect=dialect) | {"in": "path", "required": True}
        for name in operation.path_names
    ]


def _parameter(name: str, parameter: Parameter, *, dialect: Dialect) -> Obj:
    return {"name": name, "in": "query", "description": parameter.description} | dialect.parameter(parameter)
