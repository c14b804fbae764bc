"""The body of a PATCH: parsed once, applied to each state of the object that the patch races with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import orjson

from apiserver.api import errors, field, json_input
from apiserver.api.errors import ApiError
from apiserver.api.golang.values import go_json, go_text, json_as_written
from apiserver.api.meta import Obj
from apiserver.api.patch import json_patch, merge_patch, strategic_merge
from apiserver.api.patch.json_patch import decoding_errors
from apiserver.api.patch.merge_schema import MergeKind
from apiserver.api.schema import DecodeError, may_repeat_fields, repeated_fields

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""The patch types of custom resources: they have no merge keys, so no strategic merge."""


class Patch(ABC):
    """The body of a PATCH.

    A malformed body raises only when the patch is applied: a missing object is the first error to report.
    """

    _prefix = "error decoding patch: "
    """The beginning of the message for a malformed body."""
    _target = "value"
    """The type that a number is decoded to, as Go's decoder names it."""
    is_converted = False
    """True if the outcome is converted to the types of its kind without becoming JSON again (applyPatchToObject)."""

    def __init__(self, raw: bytes) -> None:
        """Parse the body."""
        self.raw = raw
        self.body: Any = None
        self._problem = ""
        try:
            self.body = orjson.loads(raw)
        except ValueError:
            self._read_slowly(raw)

    def _read_slowly(self, raw: bytes) -> None:
        try:
            self.body, self.raw = json_input.loads(raw)
        except ValueError as error:
            self._problem = str(error)
            return
        if number := json_input.first_overflow(self.raw):
            self._problem = f"json: cannot unmarshal number {number} into Go {self._target} of type float64"

    @abstractmethod
    def apply(self, obj: Obj) -> Any:
        """Return the patched object; the argument does not change.

        Raises:
            ApiError: the patch is malformed, or does not fit the object.
        """

    def strict_errors(self) -> tuple[str, ...]:
        """Return the unknown and the repeated fields of the patch itself.

        Raises:
            ApiError: 400, it is malformed.
        """
        self._check()
        return tuple(repeated_fields(self.raw)) if may_repeat_fields(self.raw, self.body) else ()

    def _check(self) -> None:
        if self._problem:
            raise errors.bad_request(f"{self._prefix}{self._problem}")

    def touched_lists(self) -> Obj:
        """Return the keys of the objects and lists that the patch reaches into, as nested dicts."""
        return {}

    def in_internal_form(self, patched: Any, *, custom: bool) -> str:
        """Return the value that an error shows for a patch whose outcome is not an object of the kind.

        Custom objects, which have no Go type, are shown with all keys sorted, others where the patch reaches into them.

        Args:
            patched: the outcome.
            custom: whether it is of a custom kind.
        """
        return go_json(patched) if custom else json_as_written(_sorted_where(patched, self.touched_lists()))

    def error(self, patched: Any, why: str, *, custom: bool) -> ApiError:
        """Return the 422 for a patch whose outcome is not an object of the kind."""
        invalid = [field.invalid("patch", self.in_internal_form(patched, custom=custom), why)]
        error = errors.invalid("", "", name="", errors=invalid)
        error.details = {"causes": (error.details or {}).get("causes", [])}
        return error


class JsonPatch(Patch):
    """RFC 6902."""

    _target = "struct field jsonPatchOp.value"

    def apply(self, obj: Obj) -> Any:
        """Return the patched object."""
        if self._problem:
            raise errors.bad_request(self._problem)
        return json_patch.apply(obj, self.body, raw=self.raw)

    def touched_lists(self) -> Obj:
        """Return the keys on the paths to what the operations name, as nested dicts."""
        touched: Obj = {}
        for operation in filter(None, self.body or ()):
            for pointer in (operation.get("path"), operation.get("from")):
                node = touched
                for key in json_patch.keys_of(pointer)[:-1] if isinstance(pointer, str) else ():
                    node = node.setdefault(key, {})
        return touched

    def strict_errors(self) -> tuple[str, ...]:
        """Return the unknown and the repeated fields of the operations, in the order of the body.

        Raises:
            ApiError: 400, the body is not a list of operations.
        """
        self._check()
        try:
            errors_found = decoding_errors(self.raw, self.body)
        except DecodeError as error:
            raise errors.bad_request(f"error decoding patch: {error}") from error
        return tuple(f"json patch {each}" for each in errors_found)


class MergePatch(Patch):
    """RFC 7386."""

    def apply(self, obj: Obj) -> Any:
        """Return the patched object, or the patch itself if that is a list."""
        if isinstance(self.body, dict):
            return merge_patch.apply(obj, self.body)
        if isinstance(self.body, list) and not self._problem:
            return self.body
        raise errors.bad_request("Invalid JSON Patch")

    def strict_errors(self) -> tuple[str, ...]:
        """Return the repeated fields of the patch.

        Raises:
            ApiError: 400, it is malformed, or not an object.
        """
        repeated = super().strict_errors()
        if not isinstance(self.body, dict | None):
            merge_patch.apply({}, self.body)
        return repeated

    def touched_lists(self) -> Obj:
        """Return the patch itself, which has the form of an object."""
        return self.body if isinstance(self.body, dict) else {}


class StrategicMergePatch(Patch):
    """A strategic merge patch: it merges lists by the keys that identify their items."""

    _prefix = ""
    is_converted = True

    def __init__(self, raw: bytes, kind: MergeKind) -> None:
        super().__init__(raw)
        self._kind = kind

    def apply(self, obj: Obj) -> Any:
        """Return the patched object."""
        self._check()
        return strategic_merge.apply(obj, self.body, self._kind)

    def in_internal_form(self, patched: Any, *, custom: bool) -> str:
        """Return the patch itself, as Go prints a map."""
        del patched, custom
        return go_text(self.body)


class ApplyPatch(NamedTuple):
    """The body of an apply, which is YAML or JSON.

    Attributes:
        document: the configuration; not an object if the body is none.
        problem: why the body cannot be read, "" if it can.
        repeated: the errors for repeated keys.
    """

    document: Any
    problem: str = ""
    repeated: tuple[str, ...] = ()


Make = Callable[[bytes, Callable[[], MergeKind]], Patch]

PATCHES: Mapping[str, Make] = {
    JSON_PATCH: lambda raw, _kind: JsonPatch(raw),
    MERGE_PATCH: lambda raw, _kind: MergePatch(raw),
    STRATEGIC_MERGE_PATCH: lambda raw, kind: StrategicMergePatch(raw, kind()),
}
"""Content type → the function that makes a Patch from a body and the merge schema of the object's kind."""


def _sorted_where(value: Any, touched: Obj) -> Any:
    """Return a value with the keys of objects sorted, the outermost and those below keys that were reached into."""
    if isinstance(value, dict):
        return {key: _sorted_at(value[key], touched.get(key)) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted_at(item, touched.get(str(index))) for index, item in enumerate(value)]
    return value


def _sorted_at(value: Any, touched: Any) -> Any:
    return _sorted_where(value, touched) if isinstance(touched, dict) else value
