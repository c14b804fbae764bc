"""ControllerRevisions (apps): validation and columns."""

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, group_version, metadata, name_of
from apiserver.api.validation.combinators import FieldErrors, at, deeply_immutable, nonnegative
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import NONE, Cells, mappings, number_of, text_of
from apiserver.groups.columns import AGE, APPS, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def _revision(obj: Obj) -> list[FieldError]:
    errors = [] if obj.get("data") is not None else [field.required("data", "data is mandatory")]
    return [*errors, *at("revision", nonnegative(obj.get("revision") or 0))]


def _revision_update(new: Obj, old: Obj) -> FieldErrors:
    return [*_revision(new), *deeply_immutable("data", new.get("data"), old.get("data"))]


def _controller_revision(obj: Obj) -> Cells:
    owners = [owner for owner in mappings(metadata(obj), "ownerReferences") if owner.get("controller") is True]
    return [name_of(obj), _owner_text(owners[0]) if owners else NONE, number_of(obj, "revision"), age(obj)]


def _owner_text(owner: Obj) -> str:
    group, _ = group_version(text_of(owner, "apiVersion"))
    kind = f"{text_of(owner, 'kind')}.{group}" if group else text_of(owner, "kind")
    return f"{kind.lower()}/{text_of(owner, 'name')}" if kind else text_of(owner, "name")


CONTROLLER_REVISION = BuiltinKind(
    "apps",
    "ControllerRevision",
    strategy=PLAIN,
    validator=Validator(create=_revision, update=_revision_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Controller", "What the revision is a revision of."),
            Column("Revision", f"{APPS}ControllerRevision#revision"),
            AGE,
        ),
        cells=_controller_revision,
    ),
)
