"""Operations: every request that a resource's row stands for, in a form that neither OpenAPI version owns."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from apiserver.api.builtin import KINDS
from apiserver.api.resources import Resource, Subresource
from apiserver.endpoints.openapi import parameters

META = "io.k8s.apimachinery.pkg.apis.meta.v1"
JSON = "application/json"
OBJECTS = (JSON, "application/yaml")
EVENTS = (JSON, f"{JSON};stream=watch", "application/yaml")
ANYTHING = ("*/*",)
STRATEGIC = "application/strategic-merge-patch+json"
PATCHES = (
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
    STRATEGIC,
)

Gvk = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Operation:
    """One method of one path.

    Attributes:
        action: what authorization calls it ("list"); "" for documents that are no resources.
        kind: group, version and kind of what it works on, None for documents.
        query: names in parameters.PARAMETERS.
        body, answer: definitions that it takes and gives; "" for no body, and for an answer of plain text.
    """

    path: str
    method: str
    identifier: str
    description: str
    tag: str
    action: str = ""
    kind: Gvk | None = None
    query: tuple[str, ...] = ()
    body: str = ""
    answer: str = ""
    codes: tuple[int, ...] = (200,)
    consumes: tuple[str, ...] = ANYTHING
    produces: tuple[str, ...] = OBJECTS

    @property
    def path_names(self) -> list[str]:
        """The variable parts of the path, sorted."""
        return sorted(re.findall(r"\{(\w+)\}", self.path))


@dataclass(frozen=True, slots=True)
class Verb:
    """How a verb shows as an operation.

    Attributes:
        identifier: what the operation's identifier begins with.
        takes: the definition of its body, OBJECT for the resource's own.
        gives: the same of its answer.
    """

    method: str
    action: str
    identifier: str
    description: str
    query: tuple[str, ...]
    takes: str = ""
    gives: str = "object"
    codes: tuple[int, ...] = (200,)
    consumes: tuple[str, ...] = ANYTHING
    produces: tuple[str, ...] = OBJECTS


OBJECT, LIST = "object", "list"
OPTIONS, STATUS, EVENT = f"{META}.DeleteOptions", f"{META}.Status", f"{META}.WatchEvent"

CREATE = Verb("post", "post", "create", "create a", parameters.WRITE, OBJECT, codes=(200, 201, 202))
LISTING = Verb("get", "list", "list", "list or watch", parameters.LIST, gives=LIST, produces=EVENTS)
WATCHING = Verb("get", "watchlist", "watch", "watch a list of", parameters.LIST, gives=EVENT, produces=EVENTS)
WATCHING_ONE = Verb("get", "watch", "watch", "watch a", parameters.LIST, gives=EVENT, produces=EVENTS)
COLLECTION_VERBS = {
    "create": CREATE,
    "deletecollection": Verb(
        "delete", "deletecollection", "delete", "delete a collection of", parameters.DELETE_COLLECTION, OPTIONS, STATUS
    ),
    "list": LISTING,
}
ITEM_VERBS = {
    "delete": Verb("delete", "delete", "delete", "delete a", parameters.DELETE, OPTIONS, STATUS, (200, 202)),
    "get": Verb("get", "get", "read", "read a", parameters.READ),
    "patch": Verb(
        "patch", "patch", "patch", "patch a", parameters.PATCH, f"{META}.Patch", codes=(200, 201), consumes=PATCHES
    ),
    "update": Verb("put", "put", "replace", "replace a", parameters.WRITE, OBJECT, codes=(200, 201)),
}
SUBRESOURCE_VERBS = ITEM_VERBS | {"create": CREATE}
CONNECT_METHODS = {"create": ("post",), "delete": ("delete",), "get": ("get",), "patch": ("patch",), "update": ("put",)}
PROXY_METHODS = CONNECT_METHODS | {"get": ("get", "head", "options")}


def operations_of(row: Resource, definition_of: Mapping[Gvk, str]) -> Iterator[Operation]:
    """The operations of a resource and of its subresources.

    Args:
        row: the resource.
        definition_of: the definition of each group, version and kind.
    """
    scene = _Scene(row, definition_of)
    yield from _whole(scene)
    yield from _items(scene)
    for part in row.subresources.values():
        yield from _connects(scene, part) if part.kind.endswith("Options") else _parts(scene, part)


def group_tag(group: str, version: str) -> str:
    """The tag of a group's operations: "apps_v1", "core_v1", "rbacAuthorization_v1"."""
    head, *rest = group.removesuffix(".k8s.io").split(".")
    return f"{(head or 'core') + ''.join(word.title() for word in rest)}_{version}".replace("-", "")


class _Scene:
    """What all operations of a row share."""

    def __init__(self, row: Resource, definition_of: Mapping[Gvk, str]) -> None:
        self.row = row
        self.definition_of = definition_of
        self.tag = group_tag(row.group, row.version)
        self.root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        self.scope = "Namespaced" if row.namespaced else ""
        self.place = f"namespaces/{{namespace}}/{row.plural}" if row.namespaced else row.plural
        self.prefix = "".join(word[:1].upper() + word[1:] for word in self.tag.split("_"))
        self.own = (row.group, row.version, row.kind)

    @property
    def item(self) -> str:
        """The path of one object."""
        return f"{self.root}/{self.place}/{{name}}"

    def operation(self, verb: Verb, *, path: str, name: str, kind: Gvk | None = None) -> Operation:
        """The verb at a path; the kind is the row's own when not given."""
        kind = kind or self.own
        meant = {OBJECT: self.row.definition if kind == self.own else self.definition_of.get(kind, "")}
        meant[LIST] = f"{self.row.definition}List"
        return Operation(
            path=path,
            method=verb.method,
            identifier=f"{verb.identifier}{self.prefix}{name}",
            description=f"{verb.description} {kind[2]}",
            tag=self.tag,
            action=verb.action,
            kind=kind,
            query=verb.query,
            body=meant.get(verb.takes, verb.takes),
            answer=meant.get(verb.gives, verb.gives),
            codes=verb.codes,
            consumes=verb.consumes if self.row.group in KINDS else tuple(sorted({*verb.consumes} - {STRATEGIC})),
            produces=verb.produces,
        )


def _whole(scene: _Scene) -> Iterator[Operation]:
    """Operations on all objects, of one namespace and of all."""
    row, named = scene.row, f"{scene.scope}{scene.row.kind}"
    for name, verb in COLLECTION_VERBS.items():
        if name in row.verbs:
            collection = "Collection" if name == "deletecollection" else ""
            yield scene.operation(verb, path=f"{scene.root}/{scene.place}", name=f"{collection}{named}")
    if row.namespaced and "list" in row.verbs:
        yield scene.operation(LISTING, path=f"{scene.root}/{row.plural}", name=f"{row.kind}ForAllNamespaces")
    if "watch" in row.verbs:
        yield scene.operation(WATCHING, path=f"{scene.root}/watch/{scene.place}", name=f"{named}List")
        if row.namespaced:
            name = f"{row.kind}ListForAllNamespaces"
            yield scene.operation(WATCHING, path=f"{scene.root}/watch/{row.plural}", name=name)


def _items(scene: _Scene) -> Iterator[Operation]:
    """Operations on one object."""
    named = f"{scene.scope}{scene.row.kind}"
    for name, verb in ITEM_VERBS.items():
        if name in scene.row.verbs:
            yield scene.operation(verb, path=scene.item, name=named)
    if "watch" in scene.row.verbs:
        yield scene.operation(WATCHING_ONE, path=f"{scene.root}/watch/{scene.place}/{{name}}", name=named)


def _parts(scene: _Scene, part: Subresource) -> Iterator[Operation]:
    """Operations on a subresource that is an object (or, as a log, at least named after one)."""
    name = f"{scene.scope}{scene.row.kind}{part.name.title()}"
    for verb in part.verbs:
        made = scene.operation(
            SUBRESOURCE_VERBS[verb],
            path=f"{scene.item}/{part.name}",
            name=name,
            kind=(part.group, part.version, part.kind),
        )
        if part.name in parameters.SUBRESOURCES:
            made = replace(made, query=parameters.SUBRESOURCES[part.name], answer="", produces=("text/plain", *OBJECTS))
        yield made


def _connects(scene: _Scene, part: Subresource) -> Iterator[Operation]:
    """Operations that hand the connection over: exec, attach, portforward and proxy."""
    proxied = part.name == "proxy"
    tails = {"": "", "/{path}": "WithPath"} if proxied else {"": ""}
    methods = PROXY_METHODS if proxied else CONNECT_METHODS
    for tail, suffix in tails.items():
        for method in (method for verb in part.verbs for method in methods[verb]):
            yield Operation(
                path=f"{scene.item}/{part.name}{tail}",
                method=method,
                identifier=f"connect{scene.prefix}{method.title()}{scene.scope}{scene.row.kind}{part.name.title()}{suffix}",
                description=f"connect {method.upper()} requests to {part.name} of {scene.row.kind}",
                tag=scene.tag,
                action="connect",
                kind=(part.group, part.version, part.kind),
                query=parameters.SUBRESOURCES[part.name],
                produces=ANYTHING,
            )
