"""Parses YAML bodies: the first document of a text as a JSON value, and its repeated keys."""

import re
from collections.abc import Mapping
from math import inf, isinf
from typing import Any, NamedTuple

import orjson
import yaml

from apiserver.api.golang.numbers import as_go_writes, format_float
from apiserver.api.json_syntax import type_name
from apiserver.api.schema import quoted

MAX_NODES = 1_000_000
"""The largest number of nodes of a document: aliases can expand a small text enormously."""
MAX_DEPTH = 1_000
"""The deepest nesting of a document: its loader recurses in C, where a stack overflow kills the process."""
_EXCESSIVE = "document contains excessive aliasing"


_INFINITE = {inf: ".inf", -inf: "-.inf"}
"""Keys that have no number in JSON."""


class YamlText(NamedTuple):
    """The content of a YAML text.

    Attributes:
        value: its first document; None if there is none.
        repeated: go-yaml's messages for repeated keys of an object; the last value wins.
    """

    value: Any
    repeated: tuple[str, ...]


class _Loader(yaml.CSafeLoader):
    """YAML 1.1 as sigs.k8s.io/yaml reads it: y and n are booleans too; a date, = or 1:30 stays text."""

    def __init__(self, stream: bytes) -> None:
        super().__init__(stream)
        self.repeated: list[tuple[int, str]] = []
        self._left = MAX_NODES

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge the objects of << keys; nested merges can multiply, so the nodes are counted."""
        super().flatten_mapping(node)  # this calls it again for each merged object, each time
        self._left -= len(node.value)
        if self._left < 0:
            raise yaml.constructor.ConstructorError(problem=_EXCESSIVE)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - PyYAML's signature
        """Return an object, with keys of other types as JSON texts; record repeated keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                if key.value in seen:
                    line = key.start_mark.line + 1
                    self.repeated.append((line, f"line {line}: key {quoted(key.value)} already set in map"))
                seen.add(key.value)
        self.flatten_mapping(node)
        return {self._key(key): self.construct_object(value, deep=deep) for key, value in node.value}

    def construct_go_int(self, node: yaml.ScalarNode) -> int | float:
        """Return an integer, or a float64 if it has more than 64 bits."""
        digits = node.value.replace("_", "")
        value = int(digits, 8) if "o" in digits else int(self.construct_yaml_int(node))
        return value if -(1 << 63) <= value < 1 << 64 else float(value)

    def construct_go_float(self, node: yaml.ScalarNode) -> float | str:
        """Return a float64, or the text of a number that is too large for one."""
        value = float(self.construct_yaml_float(node))
        return node.value if isinf(value) and node.value[-1].isdigit() else value

    def _key(self, node: yaml.Node) -> str:
        """Return a key as a text (sigs.k8s.io/yaml's convertToJSONableObject)."""
        key = self.construct_object(node, deep=True)
        match key:
            case str():
                return key
            case bool():
                return "true" if key else "false"
            case int():
                return str(key)
            case float():
                return _INFINITE.get(key) or format_float(key)
        raise yaml.constructor.ConstructorError(problem=f"unsupported map key of type: {type_name(key)}")


_TEXTS = ("tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _TEXTS]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}
_RESOLVERS = (
    (
        "-+.0123456789",
        "tag:yaml.org,2002:float",
        re.compile(r"^[-+]?(?:(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)[eE][-+]?[0-9]+|0[0-9]*[89][0-9]*)$"),
    ),
    ("-+0", "tag:yaml.org,2002:int", re.compile(r"^[-+]?0o[0-7_]+$")),
    ("yYnN", "tag:yaml.org,2002:bool", re.compile(r"^(?:y|Y|n|N)$")),
    ("+-0123456789", "tag:yaml.org,2002:str", re.compile(r"^[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?$")),
)
"""Further types of plain scalars, by their first letters: a number, since exponents need neither point nor sign, 0o17
is octal and 089 is not; a boolean; or a text that YAML 1.1 takes for a number to base 60."""
for _letters, _tag, _pattern in _RESOLVERS:
    for _letter in _letters:
        _Loader.yaml_implicit_resolvers.setdefault(_letter, []).insert(0, (_tag, _pattern))
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_go_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_go_float)
_Loader.bool_values = yaml.CSafeLoader.bool_values | {"y": True, "n": False}


def load_yaml(raw: bytes) -> YamlText:
    """Return the first document of a YAML text.

    Raises:
        ValueError: it is not valid YAML, or expands too much.
    """
    try:
        _check_depth(raw)
        loader = _Loader(raw)
        try:
            value = loader.get_data()
        finally:
            loader.dispose()
    except (yaml.YAMLError, RecursionError, UnicodeDecodeError) as error:
        problem = getattr(error, "problem", None) or "the document cannot be read"
        raise ValueError(f"yaml: {_where(error)}{problem}") from error
    _nodes_left(value, MAX_NODES)
    try:
        plain = orjson.loads(as_go_writes(orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS)))  # 1.0 becomes 1
    except (TypeError, ValueError) as error:
        raise ValueError(f"error converting YAML to JSON: {error}") from error
    return YamlText(plain, tuple(message for _, message in sorted(loader.repeated)))


def _where(error: Exception) -> str:
    """Return the line of an error as go-yaml writes it (parser.fail): none in the first line, and often one too few."""
    if not isinstance(error, yaml.scanner.ScannerError | yaml.parser.ParserError):
        return ""
    marks = (error.context_mark, error.problem_mark)
    line: int = next((mark.line for mark in marks if mark is not None and mark.line), 0)
    if not line:
        return ""
    return f"line {line + isinstance(error, yaml.scanner.ScannerError)}: "


_OPENERS = (b"[", b"{", b"-", b"?")
"""The characters that nest YAML within a line; by indentation alone a body cannot be too deep."""
_STEPS: Mapping[type[yaml.Event], int] = {
    yaml.SequenceStartEvent: 1,
    yaml.MappingStartEvent: 1,
    yaml.SequenceEndEvent: -1,
    yaml.MappingEndEvent: -1,
}


def _check_depth(raw: bytes) -> None:
    """Refuse a text that is nested too deeply to be loaded; only texts with many openers need the check.

    Raises:
        ValueError: it is nested too deeply.
        yaml.YAMLError: it is not valid YAML.
    """
    if sum(map(raw.count, _OPENERS)) <= MAX_DEPTH:
        return
    depth = 0
    for event in yaml.parse(raw, _Loader):
        depth += _STEPS.get(type(event), 0)
        if depth > MAX_DEPTH:
            raise ValueError(f"yaml: exceeded max depth of {MAX_DEPTH}")


def _nodes_left(value: Any, left: int) -> int:
    """Return how many nodes are left of a budget after this value.

    Raises:
        ValueError: the value has more nodes than that.
    """
    left -= 1
    if left < 0:
        raise ValueError(f"yaml: {_EXCESSIVE}")
    children = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    try:
        for child in children:
            left = _nodes_left(child, left)
    except RecursionError as error:
        raise ValueError("yaml: document is nested too deeply") from error
    return left
