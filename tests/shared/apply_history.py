"""An object with a history of applies and updates, without a server: what a test of ownership plays and asks."""

from dataclasses import dataclass, field
from typing import Any

import yaml

from apiserver.api.managedfields.apply import Configuration, ConflictsError, apply
from apiserver.api.managedfields.field_paths import paths
from apiserver.api.managedfields.managed_fields import (
    ManagerIdentifier,
    decode_stored,
    encode,
    entries_after_create,
    entries_after_update,
)
from apiserver.api.managedfields.typed_validation import check_types
from apiserver.api.managedfields.value_types import Struct
from apiserver.api.meta import Obj

VERSION = "example.com/v1"


@dataclass
class History:
    """One object of a kind with one version.

    Attributes:
        kind: its type.
        spec: its spec; None before it exists.
        entries: its managedFields.
    """

    kind: Struct
    spec: Any = None
    entries: list[Obj] = field(default_factory=list)
    exists: bool = False
    clock: int = 0

    def convert(self, obj: Obj, _version: str) -> Obj:
        return obj

    @property
    def obj(self) -> Obj:
        """The object as it is stored."""
        obj: Obj = {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": "x"}}
        return obj | ({"spec": self.spec} if self.exists and self.spec is not None else {})

    def apply(self, manager: str, text: str | Obj, *, force: bool = False) -> list[str]:
        """Apply a spec; return the paths in conflict, by which nothing changes."""
        config = self._object(text)
        check_types(self.kind, config)
        owner = ManagerIdentifier(manager, "Apply", "")
        request = Configuration(config, owner, VERSION, force)
        try:
            applied = apply(self.obj, decode_stored(self.entries), request, _OneVersion(self.kind))
        except ConflictsError as conflicts:
            return sorted(
                f"{who.manager} {path.removeprefix('.spec')}"
                for who, fields in conflicts.fields.items()
                for path in paths(fields)
            )
        self.spec, self.exists = applied.obj.get("spec"), True
        self.entries = encode(applied.managed)
        return []

    def update(self, manager: str, text: str | Obj) -> None:
        """Replace the spec."""
        new = self._object(text)
        self.clock += 1
        owner, time = ManagerIdentifier(manager, "Update", VERSION), f"2026-01-01T00:00:{self.clock % 60:02}Z"
        if self.exists:
            old = self.obj | {"metadata": {"name": "x", "managedFields": self.entries}}
            self.entries = entries_after_update(old, new, self.kind, owner=owner, time=time)
        else:
            self.entries = entries_after_create(new, self.kind, owner=owner, time=time)
        self.spec, self.exists = new.get("spec"), True

    @property
    def owners(self) -> dict[str, list[str]]:
        """The paths of each manager's fields below the spec."""
        return {
            entry["manager"]: sorted(path.removeprefix(".spec") or "." for path in paths(entry["fieldsV1"]))
            for entry in self.entries
        }

    def _object(self, text: str | Obj) -> Obj:
        spec = yaml.safe_load(text) if isinstance(text, str) else text
        obj: Obj = {"apiVersion": VERSION, "kind": "Thing", "metadata": {"name": "x"}}
        return obj if spec is None else obj | {"spec": spec}


@dataclass(frozen=True)
class _OneVersion:
    only: Struct

    def kind(self, _version: str) -> Struct:
        return self.only

    def convert(self, obj: Obj, _version: str) -> Obj:
        return obj
