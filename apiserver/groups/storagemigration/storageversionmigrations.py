"""StorageVersionMigrations (storagemigration.k8s.io): columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cells import Cells, mapping, mappings, text_of
from apiserver.groups.columns import META, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import COUNTED_STATUS_PINNED

_MIGRATION_STATES = frozenset({"Running", "Failed", "Succeeded"})


def _storage_version_migration(obj: Obj) -> Cells:
    resource = mapping(mapping(obj, "spec"), "resource")
    group = f".{text_of(resource, 'group')}" if text_of(resource, "group") else ""
    conditions = [c for c in mappings(mapping(obj, "status"), "conditions") if c.get("status") == "True"]
    states = [state for c in conditions if (state := text_of(c, "type")) in _MIGRATION_STATES]
    return [name_of(obj), f"{text_of(resource, 'resource')}{group}", states[-1] if states else "Unknown"]


STORAGE_VERSION_MIGRATION = BuiltinKind(
    "storagemigration.k8s.io",
    "StorageVersionMigration",
    namespaced=False,
    strategy=COUNTED_STATUS_PINNED,
    printer=Printer(
        columns=(
            Column("Name", f"{META}ObjectMeta#name"),
            Column("Resource", "The resource to migrate, with its group."),
            Column("Status", "How far the migration is, in one word."),
        ),
        cells=_storage_version_migration,
    ),
    notices=stored("StorageVersionMigration", "has no storage version migrator", "no object is rewritten"),
)
