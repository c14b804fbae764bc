"""Compare answers: dotted paths, the marks for what differs from run to run, and the differences that remain."""

import calendar
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

UID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
GENERATED = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
AGE = re.compile(r"(\d+[ywdhms])+")
TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z\b")
ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")
NODE_PORT = re.compile(r":\d+/")
WORDING = [
    # A value that is no scalar is printed as Go prints it before 1.34, as JSON since.
    (
        re.compile(
            r"((?:Invalid|Unsupported|Duplicate) value): "
            r"(?:\x22null\x22|null|&?\*?(?:map\[|\[|\(\*|\w+\.\w+[{(]|\{).*?[})\]])(?=: |$)",
            re.DOTALL,
        ),
        r"\1: <value>",
    ),
    (re.compile(r"must be no more than (\d+) (?:characters|bytes)"), r"must be no more than \1 characters"),
    (
        re.compile(
            r"Too long: (?:must have at most|may not be longer than|may not be more than) (\d+)"
            r"(?: bytes?| characters?| items?)?"
        ),
        r"Too long: may not be more than \1",
    ),
    (re.compile(r"Invalid value: 0x0: "), "Invalid value: 0: "),
    (re.compile(r"\b(Ingress|NetworkPolicy)\.extensions\b"), r"\1.networking.k8s.io"),
    (re.compile(r"406: Not Acceptable\n\nAvailable representations: .*"), "406: Not Acceptable"),
    # With protobuf or without it; CBOR is in the list since 1.32.
    (re.compile(r"only the following media types are accepted.*"), "only the following media types are accepted"),
    (
        re.compile(
            r"(found '[^']*', expected): (?:'=', '!=', '==', 'in', notin'|in, notin, =, ==, !=, gt, lt)",
        ),
        r"\1: an operator",
    ),
]
"""Texts that releases after 1.20 word differently, with the text that stands for both."""
INNER = [
    (re.compile(r'(resourceVersion\\*":\\*")\d+'), r"\1<resourceVersion>"),
    (re.compile(r"(ResourceVersion in record) \(\d+\)"), r"\1 (<resourceVersion>)"),
    (re.compile(r"\([0-9a-f]{20,} \.\.\.\)"), "(<hex> ...)"),
    (re.compile(r"(resource version: \d+, current:) \d+"), r"\1 <resourceVersion>"),
]
"""Patterns of text that differ from run to run within an exact scenario."""
VOLATILE = frozenset(
    (
        *("uid", "resourceVersion", "creationTimestamp", "deletionTimestamp", "selfLink", "continue"),
        *("storageVersionHash", "time", "lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime"),
        *("clusterIP", "nodePort", "healthCheckNodePort"),
    )
)
"""Fields whose values differ from run to run."""
AGED = frozenset((None, "Age", "Last Seen", "First Seen", "Duration"))
"""Columns that show an age; a cell without a name may be one."""

Variables = dict[str, str]
Answer = dict[str, Any]
Scenario = dict[str, Any]


# --- dotted paths ---------------------------------------------------------------------------------------------------


def dig(value: Any, path: str) -> Any:
    """Return what lies at a dotted path, or None.

    In a list a part of the path is an index, `key=value` of the element that is meant, or `*` for all elements. A `~`
    stands for a dot within a part.
    """
    head, _, rest = path.partition(".")
    if isinstance(value, list) and head == "*":
        return [dig(each, rest) if rest else each for each in value]
    value = _element(value, head) if isinstance(value, list) else _member(value, head)
    return dig(value, rest) if rest and value is not None else value


def _member(value: Any, head: str) -> Any:
    return value.get(head.replace("~", ".")) if isinstance(value, dict) else None


def _element(items: list[Any], head: str) -> Any:
    if "=" in head:
        key, want = head.replace("~", ".").split("=", 1)
        objects = (item for item in items if isinstance(item, dict))
        return next((each for each in objects if str(each[key] if key in each else dig(each, key)) == want), None)
    if not head.lstrip("-").isdigit() or not -len(items) <= int(head) < len(items):
        return None
    return items[int(head)]


def without(value: Any, paths: list[str]) -> Any:
    """Return a copy of the value without what lies at these dotted paths."""
    for path in paths:
        value = _dropped(value, path.split("."))
    return value


def _dropped(value: Any, parts: list[str]) -> Any:
    head, *rest = parts
    if isinstance(value, dict):
        keys = value.keys() if head == "*" else {head.replace("~", ".")}
        if not rest:
            return {key: each for key, each in value.items() if key not in keys}
        return {key: _dropped(each, rest) if key in keys else each for key, each in value.items()}
    if isinstance(value, list) and (head == "*" or head.isdigit()):
        indices = range(len(value)) if head == "*" else [int(head)]
        if not rest:
            return [each for i, each in enumerate(value) if i not in indices]
        return [_dropped(each, rest) if i in indices else each for i, each in enumerate(value)]
    return value


def picked(answer: Answer, paths: list[str]) -> Answer:
    """Return the answer with only these paths of its body.

    In a Table, columns and cells are found by the name of the column, since releases add columns.
    """
    body = answer["body"]
    if isinstance(body, dict) and body.get("kind") == "Table":
        columns = {column.get("name"): column for column in body.get("columnDefinitions") or []}
        rows = [row | {"cells": dict(zip(columns, row["cells"], strict=False))} for row in body.get("rows") or []]
        body = body | {"columnDefinitions": columns, "rows": rows}
    return answer | {"body": {path: dig({"body": body}, path) for path in paths}}


# --- what differs from run to run -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Replaces everything that may differ between two honest runs by a mark of its type.

    Attributes:
        variables: values of this run, which are replaced by their names.
        exact: whether wording, null times and the keys of maps are compared as they are.
    """

    variables: Variables = field(default_factory=dict)
    exact: bool = False

    def normal(self, value: Any, key: str | None = None) -> Any:
        """Return the normalised value; `key` is the field that holds it."""
        if isinstance(value, dict):
            return self._object(value, key)
        if isinstance(value, list):
            return self._list(value, key)
        if key in VOLATILE and value not in (None, "", "None"):
            return "<nodePort>" if key in ("nodePort", "healthCheckNodePort") else f"<{key}>"
        return self._text(value) if isinstance(value, str) else value

    def _object(self, value: dict[str, Any], key: str | None) -> dict[str, Any]:
        if self.exact:
            value = {self._marked(each): member for each, member in value.items()}
        if value.get("kind") == "Table":
            self._clean_table(value)
        prefix, name = (value.get("generateName"), value.get("name")) if key == "metadata" else (None, None)
        if isinstance(prefix, str) and isinstance(name, str) and name.startswith(prefix):
            value = value | ({"name": f"{prefix}<random>"} if GENERATED.fullmatch(name.removeprefix(prefix)) else {})
        if not self.exact:
            value = _in_words_of_today(value)
        return {each: self.normal(member, each) for each, member in sorted(value.items())}

    def _clean_table(self, table: dict[str, Any]) -> None:
        names = [column.get("name") for column in table.get("columnDefinitions") or []]
        for column in [] if self.exact else table.get("columnDefinitions") or []:
            column.pop("description", None)  # prose, which differs from release to release
        for row in table.get("rows") or []:
            cells = row.get("cells") or []
            # A watched Table names its columns in its first event only: a cell without a name stays.
            named = itertools.zip_longest(names[: len(cells)], cells)
            row["cells"] = [_cell(name, cell) for name, cell in named]

    def _list(self, value: list[Any], key: str | None) -> list[Any]:
        if key == "clusterIPs":
            return ["<address>" if each != "None" else each for each in value]
        if key == "managedFields":
            value = _by_manager(value)
        return [self.normal(each) for each in value]

    def _text(self, text: str) -> str:
        text = self._marked(text)
        for pattern, replacement in [] if self.exact else WORDING:
            text = pattern.sub(replacement, text)
        return TIME.sub("<time>", UID.sub("<uid>", text))

    def _marked(self, text: str) -> str:
        """Return the text with the values of variables replaced by their names."""
        for name, value in self.variables.items():
            if value and len(value) > 3 and not (self.exact and value.isdigit()):
                text = text.replace(value, f"${name}")
        if not self.exact:
            return text
        if namespace := self.variables.get("NS"):  # as OpenAPI's operations are named
            camel = "".join(part[:1].upper() + part[1:] for part in namespace.split("-"))
            text = text.replace(camel, "$Ns").replace(camel[:1].lower() + camel[1:], "$ns")
        for pattern, replacement in INNER:
            text = pattern.sub(replacement, text)
        return text


def _in_words_of_today(value: dict[str, Any]) -> dict[str, Any]:
    """Return the object as releases since 1.34 write it: no selfLink, no creationTimestamp of null."""
    if value.get("group") == "extensions" and value.get("kind") in ("Ingress", "NetworkPolicy"):
        value = value | {"group": "networking.k8s.io"}
    absent = {"selfLink"} | ({"creationTimestamp"} if value.get("creationTimestamp") is None else set())
    return {key: each for key, each in value.items() if key not in absent}


def _cell(name: str | None, value: Any) -> Any:
    if name in AGED and AGE.fullmatch(str(value)):
        return "<age>"
    if name == "Cluster-IP" and ADDRESS.fullmatch(str(value)):
        return "<address>"
    return NODE_PORT.sub(":<nodePort>/", value) if name == "Port(s)" and isinstance(value, str) else value


def _by_manager(entries: list[Any]) -> list[Any]:
    """Return entries of nearly the same time sorted by manager.

    Entries stand in the order of their second: which of two writes falls into the next second is chance.
    """
    times = [TIMESTAMP.fullmatch(str(entry.get("time"))) if isinstance(entry, dict) else None for entry in entries]
    if not times or not all(times):
        return entries
    seconds = [calendar.timegm((*map(int, match.groups()), 0, 0, 0)) for match in times if match]
    if max(seconds) - min(seconds) >= 3:
        return entries
    return _sorted_by_manager(entries)


def _sorted_by_manager(entries: list[Any]) -> list[Any]:
    runs = itertools.groupby(entries, key=lambda entry: entry.get("operation"))
    return [entry for _, run in runs for entry in sorted(run, key=_manager_key)]


def _as_quick(want: Any, got: Any, key: str = "") -> Any:
    """Return an answer with managedFields sorted by manager where they were recorded so.

    Entries that were recorded in quick succession may be seconds apart on a busy machine, and are in their order then.
    """
    if isinstance(want, dict) and isinstance(got, dict):
        return {name: _as_quick(want.get(name), value, name) for name, value in got.items()}
    if not (isinstance(want, list) and isinstance(got, list)):
        return got
    if key == "managedFields" and all(isinstance(entry, dict) for entry in (*want, *got)):
        return _sorted_by_manager(got) if want == _sorted_by_manager(want) else got
    pairs = itertools.zip_longest(want, got)
    return [_as_quick(one, other) for one, other in itertools.islice(pairs, len(got))]


def _manager_key(entry: dict[str, Any]) -> list[str]:
    return [str(entry.get(key)) for key in ("manager", "apiVersion", "subresource")]


# --- differences ------------------------------------------------------------------------------------------------------


def compared_steps(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the steps whose answers are compared."""
    return [step for step in scenario["steps"] if not step.get("setup")]


def compare(scenario: Scenario, golden: dict[str, Answer], answers: dict[str, Answer]) -> dict[str, list[str]]:
    """Return the differences of each compared step; an empty list is an answer that agrees."""
    normal = Normaliser(exact=scenario.get("exact", False)).normal
    result = {}
    for step in compared_steps(scenario):
        ignored = step.get("ignore", []) + scenario.get("ignore", [])
        want, got = without(normal(golden[step["name"]]), ignored), without(answers[step["name"]], ignored)
        got = _as_quick(want, got)
        if "only" in step:
            want, got = picked(want, step["only"]), picked(got, step["only"])
        result[step["name"]] = list(differences(want, got))
    return result


def differences(want: Any, got: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each difference: `-` is missing, `+` is too much, `!` is another value."""
    if isinstance(want, dict) and isinstance(got, dict):
        for key in sorted(set(want) | set(got)):
            here = f"{path}.{key}" if path else key
            if key not in got:
                yield f"- {here}: {json.dumps(want[key])[:160]}"
            elif key not in want:
                yield f"+ {here}: {json.dumps(got[key])[:160]}"
            else:
                yield from differences(want[key], got[key], here)
    elif isinstance(want, list) and isinstance(got, list) and len(want) == len(got):
        for i, (one, other) in enumerate(zip(want, got, strict=True)):
            yield from differences(one, other, f"{path}.{i}")
    elif want != got:
        yield f"! {path}: want {json.dumps(want)[:200]} got {json.dumps(got)[:200]}"
