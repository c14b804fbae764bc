"""The body of a PATCH: parsed once, applied to each state of the object that the patch races with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import orjson

from apiserver.api import errors, field, json_input
from apiserver.api.errors import ApiError
from apiserver.api.golang.values import go_json, go_text, json_as_written
from apiserver.api.meta import Obj
from apiserver.api.patch import json_patch, merge_patch, strategic_merge
from apiserver.api.patch.merge_schema import MergeKind
from apiserver.api.patch.operation_schema import decoding_errors
from apiserver.api.schema import DecodeError, may_repeat_fields, repeated_fields

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
CUSTOM_PATCHES = (JSON_PATCH, MERGE_PATCH, APPLY_PATCH)
"""What custom resources can be patched by: their Go types have no merge keys."""


class Patch(ABC):
    """A change that a client describes.

    What is wrong with the description is told when it is applied, so that nobody hears of it where there is no object.
    """

    _prefix = "error decoding patch: "
    """What an error of the description begins with."""
    _target = "value"
    """What a number is decoded to, as Go's decoder names it."""

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
        """Return the changed object; the object itself stays as it is.

        Raises:
            ApiError: the patch is malformed, or does not fit the object.
        """

    def oddities(self) -> tuple[str, ...]:
        """Return the unknown and the repeated fields of the patch itself.

        Raises:
            ApiError: 400, it is malformed.
        """
        self._check()
        return tuple(repeated_fields(self.raw)) if may_repeat_fields(self.raw, self.body) else ()

    def _check(self) -> None:
        if self._problem:
            raise errors.bad_request(f"{self._prefix}{self._problem}")

    def touched(self) -> Obj:
        """Return the keys of the objects and lists that the patch reaches into, as nested dicts."""
        return {}

    def shown(self, patched: Any, *, custom: bool) -> str:
        """Return what an error shows of a patch whose outcome is no such object.

        Objects without a Go type have their keys sorted all through, others where the patch reaches into them.

        Args:
            patched: the outcome.
            custom: whether it is of a custom kind.
        """
        return go_json(patched) if custom else json_as_written(_sorted_where(patched, self.touched()))

    def refused(self, patched: Any, why: str, *, custom: bool) -> ApiError:
        """422: what comes out of the patch is no object of the kind."""
        wrong = [field.invalid("patch", self.shown(patched, custom=custom), why)]
        error = errors.invalid("", "", name="", errors=wrong)
        error.details = {"causes": (error.details or {}).get("causes", [])}
        return error


class JsonPatch(Patch):
    """RFC 6902."""

    _target = "struct field jsonPatchOp.value"

    def apply(self, obj: Obj) -> Any:
        """Return the changed object."""
        if self._problem:
            raise errors.bad_request(self._problem)
        return json_patch.apply(obj, self.body, raw=self.raw)

    def touched(self) -> Obj:
        """Return the same, on the ways to what the operations name."""
        touched: Obj = {}
        for operation in filter(None, self.body or ()):
            for pointer in (operation.get("path"), operation.get("from")):
                here = touched
                for key in json_patch.keys_of(pointer)[:-1] if isinstance(pointer, str) else ():
                    here = here.setdefault(key, {})
        return touched

    def oddities(self) -> tuple[str, ...]:
        """Return the unknown and the repeated fields of the operations, in the order of the body.

        Raises:
            ApiError: 400, the body is no list of operations.
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
        """Return the changed object, or the patch itself if that is a list."""
        if isinstance(self.body, dict):
            return merge_patch.apply(obj, self.body)
        if isinstance(self.body, list) and not self._problem:
            return self.body
        raise errors.bad_request("Invalid JSON Patch")

    def oddities(self) -> tuple[str, ...]:
        """Return the repeated fields of the patch.

        Raises:
            ApiError: 400, it is malformed, or no object.
        """
        odd = super().oddities()
        if not isinstance(self.body, dict | None):
            merge_patch.apply({}, self.body)
        return odd

    def touched(self) -> Obj:
        """Return the patch itself, which has the form of an object."""
        return self.body if isinstance(self.body, dict) else {}


class StrategicMergePatch(Patch):
    """A merge that knows by which key the items of a list are told apart."""

    _prefix = ""

    def __init__(self, raw: bytes, kind: MergeKind) -> None:
        super().__init__(raw)
        self._kind = kind

    def apply(self, obj: Obj) -> Any:
        """Return the changed object."""
        self._check()
        return strategic_merge.apply(obj, self.body, self._kind)

    def shown(self, patched: Any, *, custom: bool) -> str:
        """Return the patch itself, as Go prints a map."""
        del patched, custom
        return go_text(self.body)


Make = Callable[[bytes, Callable[[], MergeKind]], Patch]

PATCHES: Mapping[str, Make] = {
    JSON_PATCH: lambda raw, _kind: JsonPatch(raw),
    MERGE_PATCH: lambda raw, _kind: MergePatch(raw),
    STRATEGIC_MERGE_PATCH: lambda raw, kind: StrategicMergePatch(raw, kind()),
}
"""Content type → what makes a patch of a body and of what the schema says of the object's kind."""


def _sorted_where(value: Any, touched: Obj) -> Any:
    """Return a value with the keys of objects sorted, the outermost and those below keys that were reached into."""
    if isinstance(value, dict):
        return {key: _sorted_at(value[key], touched.get(key)) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted_at(item, touched.get(str(index))) for index, item in enumerate(value)]
    return value


def _sorted_at(value: Any, touched: Any) -> Any:
    return _sorted_where(value, touched) if isinstance(touched, dict) else value
