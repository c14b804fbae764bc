"""Odd objects and odd patches, by the thousand; what is stored of them can be read in every form and version.

They are the same in every run. `FUZZ_SEED=N pytest tests/fuzz` tries others; a failure tells the smallest of its kind.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import yaml
from hypothesis import given as drawn
from hypothesis import seed, settings
from hypothesis import strategies as st

from apiserver.api.meta import Obj
from apiserver.api.resources import Resource
from apiserver.release import load_release

SEED = int(os.environ.get("FUZZ_SEED", "2"))
REQUESTS = int(os.environ.get("FUZZ_REQUESTS", "4000"))
RELEASE = load_release("1.37")
ROWS = RELEASE.rows
SAMPLES = yaml.safe_load((Path(__file__).parents[1] / "server" / "minimal.yaml").read_text())
Ask = Callable[..., Any]
odd_requests = settings(settings.get_profile("odd requests"), max_examples=REQUESTS)

# Values

STRINGS = tuple(json.loads(Path(__file__).with_name("strings.json").read_text()))
NUMBERS = (
    0,
    1,
    -1,
    2,
    7,
    80,
    65535,
    65536,
    2**31 - 1,
    2**31,
    -(2**31) - 1,
    2**53,
    2**63 - 1,
    2**63,
    -(2**63),
    2**64,
    10**30,
    0.5,
    -0.0,
    1e300,
)
LEAVES = st.sampled_from((None, True, False, [], {}, [None], {"a": None}, *NUMBERS, *STRINGS))
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(STRINGS), inner, max_size=3),
    max_leaves=6,
)
TYPED = {
    "string": st.sampled_from(STRINGS),
    "integer": st.sampled_from([n for n in NUMBERS if isinstance(n, int)]),
    "number": st.sampled_from(NUMBERS),
    "boolean": st.booleans(),
}


@st.composite
def like(draw: Any, schema: Obj, depth: int = 7) -> Any:
    """A value that mostly has the schema's types, and hardly ever its sense."""
    if draw(st.integers(0, 30)) == 17:
        return draw(JUNK)
    if "$ref" in schema:
        schema = RELEASE.definitions[schema["$ref"].rpartition("/")[2]]
    if properties := schema.get("properties"):
        keys = [*schema.get("required", ()), *draw(st.lists(st.sampled_from(sorted(properties)), max_size=4))]
        return {name: draw(like(properties[name], depth - 1)) for name in keys} if depth else {}
    kind = schema.get("type", "")
    kind = kind if isinstance(kind, str) else kind[0]
    if kind == "array":
        return [draw(like(schema["items"], depth - 1)) for _ in range(draw(st.integers(0, 2)))] if depth else []
    if isinstance(schema.get("additionalProperties"), dict):
        names = draw(st.lists(st.sampled_from(STRINGS), max_size=2))
        return {name: draw(like(schema["additionalProperties"], depth - 1)) for name in names}
    return draw(st.sampled_from(schema["enum"]) if "enum" in schema else TYPED.get(kind, LEAVES))


def sample(row: Resource) -> Obj:
    kind = SAMPLES.get(f"{row.plural}.{row.group}", {})
    body = SAMPLES.get(f"{row.plural}.{row.version}.{row.group}", kind)
    obj: Obj = {"kind": row.kind, "apiVersion": row.api_version, "metadata": {"name": "x"}} | body
    return obj


@st.composite
def mutated(draw: Any, value: Any, schema: Obj) -> Any:
    """The value with something in it replaced by what is like its schema, or by junk; or one more field."""
    if "$ref" in schema:
        schema = RELEASE.definitions[schema["$ref"].rpartition("/")[2]]
    if isinstance(value, dict):
        known = schema.get("properties") or {}
        names = sorted({*value, *known}, key=str)
        if names and draw(st.integers(0, 9)):
            name = draw(st.sampled_from(names))
            inner = known.get(name) or schema.get("additionalProperties") or {}
            inner = inner if isinstance(inner, dict) else {}
            return value | {name: draw(mutated(value[name], inner) if name in value else like(inner))}
    if isinstance(value, list) and value and draw(st.integers(0, 4)):
        index = draw(st.integers(0, len(value) - 1))
        return [
            *value[:index],
            draw(mutated(value[index], schema.get("items", {}))),
            *value[index + draw(st.integers(0, 1)) :],
        ]
    return draw(like(schema) if draw(st.integers(0, 5)) else JUNK)


@st.composite
def objects(draw: Any, row: Resource) -> Any:
    """An object that is not quite one of the kind."""
    definition = RELEASE.definitions[row.definition]
    obj = draw(like(definition)) if draw(st.integers(0, 3)) == 3 else sample(row)
    for _ in range(draw(st.integers(0, 3))):
        obj = draw(mutated(obj, definition))
    if isinstance(obj, dict) and draw(st.integers(0, 9)):
        meta = obj.get("metadata")
        name = {"name": draw(NAMES)} if draw(st.integers(0, 5)) else {"generateName": draw(NAMES)}
        return obj | {
            "kind": row.kind,
            "apiVersion": row.api_version,
            "metadata": (meta if isinstance(meta, dict) else {}) | name,
        }
    return obj


NAMES = st.sampled_from((*"abcdefgh", "x", "a-", "default", "kubernetes", *STRINGS[:12]))


def text_of(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=True).encode()


def base(row: Resource) -> str:
    return f"/apis/{row.group}/{row.version}" if row.group else f"/api/{row.version}"


def collection(row: Resource) -> str:
    return base(row) + ("/namespaces/default" if row.namespaced else "") + f"/{row.plural}"


PATCH_MEDIA = st.sampled_from(
    ["application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json"]
)
META = ";g=meta.k8s.io;v=v1"
ACCEPT = st.sampled_from(
    (
        "",
        "",
        "",
        "application/yaml",
        f"application/json;as=Table{META}",
        f"application/json;as=PartialObjectMetadata{META}",
    )
)


def still_readable(ask: Ask, row: Resource) -> None:
    """Check that the written objects can be listed in every form, in every version."""
    for version in {other.version for other in ROWS if (other.group, other.plural) == (row.group, row.plural)}:
        path = f"{base(row).rpartition('/')[0]}/{version}/{row.plural}"
        for accept in (
            "application/json",
            f"application/json;as=Table{META}",
            f"application/json;as=PartialObjectMetadataList{META}",
        ):
            assert ask("GET", path, Accept=accept).code == 200


BY_NAME = {f"{row.plural}.{row.version}.{row.group}": row for row in ROWS}
KIND = st.sampled_from([*BY_NAME])
QUERIES = (
    "",
    "",
    "?dryRun=All",
    "?dryRun=All&fieldValidation=Ignore",
    "?fieldValidation=Strict",
    "?fieldValidation=Ignore",
)
PATCH_QUERIES = ("", "", "?dryRun=All", "?fieldValidation=Strict", "?force=true", "?fieldManager=%00")
SUBRESOURCES = ("", "", "", "", "", "/status", "/scale", "/x")


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_objects(ask: Ask, data: st.DataObject) -> None:
    row = BY_NAME[data.draw(KIND)]
    method = data.draw(st.sampled_from(("POST", "POST", "POST", "PUT")))
    path = collection(row) + (f"/{quote(data.draw(NAMES).encode(errors='surrogatepass'))}" if method == "PUT" else "")
    query = data.draw(st.sampled_from(QUERIES))
    body = text_of(data.draw(objects(row)))
    answer = ask(method, path + query, body=body, Content_Type="application/json", Accept=data.draw(ACCEPT))
    if answer.code in (200, 201) and "dryRun" not in query and "list" in row.verbs:
        still_readable(ask, row)


JSON_POINTERS = (
    "", "/", "a", "/kind", "/status", "/~2", "/" + "a/" * 200, "/metadata", "/metadata/name",
    "/metadata/resourceVersion", "/metadata/labels", "/metadata/labels/a", "/metadata/labels/a~1b",
    "/metadata/annotations", "/metadata/managedFields", "/metadata/finalizers/-", "/spec", "/spec/a",
    "/spec/containers/0", "/spec/containers/-", "/spec/containers/01", "/spec/containers/9", "/spec/containers/-1",
    "/spec/containers/0/image",
)  # fmt: skip
DIRECTIVES = (
    "$patch", "$retainKeys", "$setElementOrder", "$setElementOrder/containers", "$deleteFromPrimitiveList/a",
    "$deleteFromPrimitiveList/finalizers", "$a",
)  # fmt: skip


@st.composite
def json_patches(draw: Any) -> Any:
    operation = st.fixed_dictionaries(
        {
            "op": st.sampled_from(("add", "replace", "remove", "test", "move", "copy", "", "x", None, 7)),
            "path": st.sampled_from(JSON_POINTERS) | LEAVES,
        },
        optional={"value": JUNK, "from": st.sampled_from(JSON_POINTERS) | LEAVES},
    )
    return draw(st.lists(operation, max_size=4) | JUNK)


@st.composite
def merges(draw: Any, row: Resource) -> Any:
    """Part of an object, with the directives of a strategic merge here and there."""
    merge_patch = draw(mutated({}, RELEASE.definitions[row.definition]))
    for _ in range(draw(st.integers(0, 2))):
        merge_patch = draw(mutated(merge_patch, RELEASE.definitions[row.definition]))
    if not isinstance(merge_patch, dict) or draw(st.integers(0, 2)):
        return merge_patch
    value = draw(st.sampled_from(("delete", "replace", "merge", "x")) | JUNK)
    directive = {draw(st.sampled_from(DIRECTIVES)): value}
    name = draw(st.sampled_from(sorted(merge_patch, key=str))) if merge_patch else ""
    inner = merge_patch.get(name)
    return merge_patch | ({name: inner | directive} if isinstance(inner, dict) else directive)


@pytest.mark.slow
@seed(SEED)
@odd_requests
@drawn(data=st.data())
def test_odd_patches(ask: Ask, data: st.DataObject) -> None:
    row, media = BY_NAME[data.draw(KIND)], data.draw(PATCH_MEDIA)
    path, name = collection(row), sample(row)["metadata"]["name"]
    ask("POST", path, body=text_of(sample(row)))  # mostly it is there already
    patch = data.draw(json_patches() if "json-patch" in media else merges(row))
    subresource, query = data.draw(st.sampled_from(SUBRESOURCES)), data.draw(st.sampled_from(PATCH_QUERIES))
    answer = ask("PATCH", f"{path}/{name}{subresource}{query}", body=text_of(patch), Content_Type=media)
    if answer.code == 200 and "dryRun" not in query:
        still_readable(ask, row)
