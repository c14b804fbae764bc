"""A Kubernetes release as servers use it: its definitions, and what is computed from them alone."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from apiserver.api.deprecation import deprecation_warning
from apiserver.api.managedfields.builtin_schema import FieldSchema
from apiserver.api.meta import Obj
from apiserver.api.patch.merge_schema import MergeSchema
from apiserver.api.resources import Resource
from apiserver.api.schema import Schema, load_definitions
from apiserver.api.schema.go_types import load_go_types
from apiserver.groups.rows import builtin_rows


@dataclass(frozen=True, slots=True)
class Release:
    """The data that all servers of a release share; immutable, except that schemas compile a kind on first use.

    Attributes:
        version: the release, such as "1.34".
        definitions: name → JSON schema.
        rows: the built-in resources.
    """

    version: str
    definitions: Mapping[str, Obj]
    rows: tuple[Resource, ...]
    schema: Schema
    merge_schema: MergeSchema
    field_schema: FieldSchema

    @property
    def minor(self) -> int:
        """The minor version: 34 for "1.34"."""
        return int(self.version.partition(".")[2])


@cache  # immutable, and a second server in the process, such as a test's, starts in half the time
def load_release(version: str) -> Release:
    """Return a release by its version.

    Raises:
        ValueError: there are no definitions for it.
    """
    definitions = load_definitions(version)
    minor = int(version.partition(".")[2])
    return Release(
        version,
        definitions,
        tuple(
            replace(row, deprecation=deprecation_warning(row.api_version, row.kind, minor))
            for row in builtin_rows(definitions, minor)
        ),
        Schema(definitions, version),
        MergeSchema(definitions),
        FieldSchema(definitions, load_go_types()),
    )
