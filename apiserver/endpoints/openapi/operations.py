"""Operations: all requests for a resource, in a form that does not depend on the OpenAPI version."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from apiserver.api.resources import Resource, Subresource
from apiserver.endpoints.openapi import parameters
from apiserver.endpoints.openapi.connection_parameters import CONNECTIONS, LOG_OPTIONS
from apiserver.groups.kinds import KINDS

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
        action: its verb in authorization ("list"); "" for discovery documents.
        kind: group, version and kind of its object, None for documents.
        owner: the kind that the description of the name in the path has: that of a subresource, if it has one.
        options: the kind of the options of a log or connection, "" for others.
        query: the names of its query parameters.
        body, answer: definitions of its body and answer; "" for no body, and for an answer of plain text.
    """

    path: str
    method: str
    identifier: str
    description: str
    tag: str
    action: str = ""
    kind: Gvk | None = None
    owner: str = ""
    options: str = ""
    query: tuple[str, ...] = ()
    body: str = ""
    answer: str = ""
    codes: tuple[int, ...] = (200,)
    consumes: tuple[str, ...] = ANYTHING
    produces: tuple[str, ...] = OBJECTS

    @property
    def path_names(self) -> list[str]:
        """The names of the path parameters, sorted."""
        return sorted(re.findall(r"\{(\w+)\}", self.path))


@dataclass(frozen=True, slots=True)
class Verb:
    """The parts of an operation that depend on its verb.

    Attributes:
        identifier: the beginning of the operationId.
        words: its description, with placeholders {of} (a subresource), {article} and {kind}.
        takes: the definition of its body, OBJECT for the resource's own.
        gives: the definition of its answer, in the same way.
    """

    method: str
    action: str
    identifier: str
    words: str
    query: tuple[str, ...]
    takes: str = ""
    gives: str = "object"
    codes: tuple[int, ...] = (200,)
    consumes: tuple[str, ...] = ANYTHING
    produces: tuple[str, ...] = OBJECTS


OBJECT, LIST = "object", "list"
OPTIONS, STATUS, EVENT = f"{META}.DeleteOptions", f"{META}.Status", f"{META}.WatchEvent"
OF_A_LIST = "deprecated: use the 'watch' parameter with a list operation instead"
ONE_OF_A_LIST = f"{OF_A_LIST}, filtered to a single item with the 'fieldSelector' parameter."

CREATE = Verb("post", "post", "create", "create{of}{article}{kind}", parameters.WRITE, OBJECT, codes=(200, 201, 202))
READ = Verb("get", "get", "read", "read{of} the specified {kind}", parameters.READ)
UPDATE = Verb("put", "put", "replace", "replace{of} the specified {kind}", parameters.WRITE, OBJECT, codes=(200, 201))
DELETE = Verb(
    "delete", "delete", "delete", "delete{of}{article}{kind}", parameters.DELETE, OPTIONS, STATUS, codes=(200, 202)
)
PATCH = Verb(
    "patch",
    "patch",
    "patch",
    "partially update{of} the specified {kind}",
    parameters.PATCH,
    f"{META}.Patch",
    codes=(200, 201),
    consumes=PATCHES,
)
LISTING = Verb(
    "get", "list", "list", "list or watch objects of kind {kind}", parameters.LIST, gives=LIST, produces=EVENTS
)
LISTING_ONLY = replace(LISTING, words="list objects of kind {kind}")
DELETE_COLLECTION = Verb(
    "delete",
    "deletecollection",
    "delete",
    "delete collection of {kind}",
    parameters.DELETE_COLLECTION,
    OPTIONS,
    STATUS,
)
WATCHING = Verb(
    "get",
    "watchlist",
    "watch",
    f"watch individual changes to a list of {{kind}}. {OF_A_LIST}.",
    parameters.LIST,
    gives=EVENT,
    produces=EVENTS,
)
WATCHING_ONE = replace(WATCHING, action="watch", words=f"watch changes to an object of kind {{kind}}. {ONE_OF_A_LIST}")
COLLECTION_VERBS = {"create": CREATE, "deletecollection": DELETE_COLLECTION, "list": LISTING}
ITEM_VERBS = {"delete": DELETE, "get": READ, "patch": PATCH, "update": UPDATE}
CUSTOM_VERBS = {
    "create": replace(CREATE, consumes=OBJECTS),
    "delete": replace(DELETE, consumes=OBJECTS),
    "deletecollection": replace(DELETE_COLLECTION, query=parameters.LIST, takes=""),
    "get": replace(READ, query=parameters.READ_CUSTOM),
    "list": replace(LISTING_ONLY, produces=OBJECTS),
    "patch": replace(PATCH, codes=(200,), consumes=tuple(kind for kind in PATCHES if kind != STRATEGIC)),
    "update": replace(UPDATE, consumes=OBJECTS),
}
"""The verbs of custom resources, as their own builder has them (apiextensions-apiserver's openapi/builder)."""
CONNECT_METHODS = {"create": ("post",), "delete": ("delete",), "get": ("get",), "patch": ("patch",), "update": ("put",)}
PROXY_METHODS = CONNECT_METHODS | {"get": ("get", "head", "options")}


def operations_of(row: Resource, definition_of: Mapping[Gvk, str]) -> Iterator[Operation]:
    """Yield the operations of a resource and of its subresources.

    Args:
        row: the resource.
        definition_of: the definition of each group, version and kind.
    """
    context = _RowContext(row, definition_of)
    yield from _collection_operations(context)
    yield from _item_operations(context)
    for part in row.subresources.values():
        yield from (
            _connect_operations(context, part)
            if part.kind.endswith("Options")
            else _subresource_operations(context, part)
        )


def group_tag(group: str, version: str) -> str:
    """Return the tag of a group's operations: "apps_v1", "core_v1", "rbacAuthorization_v1"."""
    return "_".join(valid_identifier(each, capital=False) for each in (short_group(group), version) if each)


def short_group(group: str) -> str:
    """Return the group as identifiers have it: "core", "apps", "rbac.authorization"."""
    return group.removesuffix(".k8s.io") or "core"


def valid_identifier(text: str, *, capital: bool) -> str:
    """Return the text in camel case (openapi.ToValidOperationID).

    "rbac.authorization" becomes "rbacAuthorization". Characters other than letters, digits and "_" are dropped, as is a
    leading digit, and the next letter is capitalized.
    """
    characters = []
    for at, character in enumerate(text):
        if character.isalpha() or character == "_" or (at and character.isdigit()):
            characters.append(character.upper() if capital else character)
            capital = False
        else:
            capital = True
    return "".join(characters)


def article(kind: str) -> str:
    """Return the article of a kind between two spaces, one space if it is a plural (GetArticleForNoun)."""
    if kind.endswith("s") and not kind.endswith("ss"):
        return " "
    return " an " if kind[:1].lower() in VOWELS else " a "


VOWELS = frozenset("aeiou")


class _RowContext:
    """The facts that all operations of a row share."""

    def __init__(self, row: Resource, definition_of: Mapping[Gvk, str]) -> None:
        self.row = row
        self.definition_of = definition_of
        self.custom = row.group not in KINDS
        self.tag = group_tag(row.group, row.version)
        self.root = f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"
        self.scope = "Namespaced" if row.namespaced else ""
        self.collection = f"namespaces/{{namespace}}/{row.plural}" if row.namespaced else row.plural
        self.prefix = "".join(valid_identifier(each, capital=True) for each in (short_group(row.group), row.version))
        self.own = (row.group, row.version, row.kind)

    @property
    def item(self) -> str:
        """The path of one object."""
        return f"{self.root}/{self.collection}/{{name}}"

    def operation(self, verb: Verb, *, path: str, name: str, part: Subresource | None = None) -> Operation:
        """Return the operation of a verb at a path, on the resource or on a subresource."""
        row = self.row
        kind = self.own if part is None else (part.group, part.version, part.kind)
        definitions = {OBJECT: row.definition if kind == self.own else self.definition_of.get(kind, "")}
        definitions[LIST] = list_definition(row)
        of = f" {part.name} of" if part else ""
        return Operation(
            path=path,
            method=verb.method,
            identifier=f"{verb.identifier}{self.prefix}{valid_identifier(name, capital=True)}",
            description=verb.words.format(of=of, article=article(row.kind), kind=row.kind),
            tag=self.tag,
            action=verb.action,
            kind=self.own if self.custom else kind,
            owner=row.kind if self.custom else kind[-1],
            query=verb.query,
            body=definitions.get(verb.takes, verb.takes),
            answer=definitions.get(verb.gives, verb.gives),
            codes=verb.codes,
            consumes=verb.consumes,
            produces=verb.produces,
        )

    def verb(self, name: str, verbs: Mapping[str, Verb]) -> Verb | None:
        """Return one of the resource's verbs, None if it is not in the table of this kind of path."""
        if name not in verbs:
            return None
        if self.custom:
            return CUSTOM_VERBS[name]
        return LISTING_ONLY if name == "list" and "watch" not in self.row.verbs else verbs[name]


def list_definition(row: Resource) -> str:
    """Return the name of the definition of a kind's list."""
    package, _, _ = row.definition.rpartition(".")
    return f"{package}.{row.list_kind}"


def _collection_operations(context: _RowContext) -> Iterator[Operation]:
    """Yield the operations on all objects, of one namespace and of all."""
    row, named = context.row, f"{context.scope}{context.row.kind}"
    for name in COLLECTION_VERBS:
        verb = context.verb(name, COLLECTION_VERBS)
        if verb and name in row.verbs:
            collection = "Collection" if name == "deletecollection" else ""
            yield context.operation(verb, path=f"{context.root}/{context.collection}", name=f"{collection}{named}")
    if row.namespaced and "list" in row.verbs and (listing := context.verb("list", COLLECTION_VERBS)):
        yield context.operation(listing, path=f"{context.root}/{row.plural}", name=f"{row.kind}ForAllNamespaces")
    if "watch" in row.verbs and not context.custom:
        yield context.operation(WATCHING, path=f"{context.root}/watch/{context.collection}", name=f"{named}List")
        if row.namespaced:
            name = f"{row.kind}ListForAllNamespaces"
            yield context.operation(WATCHING, path=f"{context.root}/watch/{row.plural}", name=name)


def _item_operations(context: _RowContext) -> Iterator[Operation]:
    """Yield the operations on one object."""
    named = f"{context.scope}{context.row.kind}"
    for name in ITEM_VERBS:
        verb = context.verb(name, ITEM_VERBS)
        if name == "delete" and verb and context.row.returns_deleted:
            verb = replace(verb, gives=OBJECT)
        if verb and name in context.row.verbs:
            yield context.operation(verb, path=context.item, name=named)
    if "watch" in context.row.verbs and not context.custom:
        yield context.operation(WATCHING_ONE, path=f"{context.root}/watch/{context.collection}/{{name}}", name=named)


def _subresource_operations(context: _RowContext, part: Subresource) -> Iterator[Operation]:
    """Yield the operations on a subresource that is an object, and on logs."""
    name = f"{context.scope}{context.row.kind}{part.name.title()}"
    verbs = ITEM_VERBS | {"create": CREATE}
    for verb in (context.verb(each, verbs) for each in part.verbs):
        assert verb is not None, "subresources have the verbs of objects"
        item = context.operation(verb, path=f"{context.item}/{part.name}", name=name, part=part)
        if part.name == "log":
            plain = ("text/plain", *OBJECTS)
            item = replace(item, options=LOG_OPTIONS, query=parameters.LOG, answer="", produces=plain)
        yield item


def _connect_operations(context: _RowContext, part: Subresource) -> Iterator[Operation]:
    """Yield the operations that connect: exec, attach, portforward and proxy."""
    proxied = part.name == "proxy"
    tails = {"": "", "/{path}": "WithPath"} if proxied else {"": ""}
    methods = PROXY_METHODS if proxied else CONNECT_METHODS
    for tail, suffix in tails.items():
        for method in (method for verb in part.verbs for method in methods[verb]):
            yield Operation(
                path=f"{context.item}/{part.name}{tail}",
                method=method,
                identifier=f"connect{context.prefix}{method.title()}{context.scope}{context.row.kind}{part.name.title()}{suffix}",
                description=f"connect {method.upper()} requests to {part.name} of {context.row.kind}",
                tag=context.tag,
                action="connect",
                kind=(part.group, part.version, part.kind),
                owner=part.kind,
                options=part.kind,
                query=tuple(CONNECTIONS[part.kind]),
                produces=ANYTHING,
            )
