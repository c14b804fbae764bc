"""VolumeAttachments (storage.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, combinators, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, flag, mapping, text_of
from apiserver.groups.columns import AGE, NAME, STORAGE, Column, Printer
from apiserver.groups.core.pods.volumes import csi_driver_name
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import METADATA_OF_STATUS, Strategy, creation, status_updating, updating


def _attachment(attachment: Obj) -> Iterator[FieldError]:
    spec = attachment.get("spec") or {}
    yield from combinators.at("spec.attacher", csi_driver_name(spec.get("attacher") or ""))
    source = spec.get("source") or {}
    inline, name = source.get("inlineVolumeSpec"), source.get("persistentVolumeName")
    detail = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    if inline is None and name is None:
        yield field.required("spec.source", detail)
    elif inline is not None and name is not None:
        yield field.forbidden("spec.source", detail)
    elif name == "":
        yield field.required("spec.source.persistentVolumeName", "must specify non empty persistentVolumeName")
    node = spec.get("nodeName") or ""
    yield from checks.invalid_values("spec.nodeName", node, names.dns1123_subdomain(node))


def _attachment_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _attachment(new)
    if not combinators.deeply_equal(new.get("spec"), old.get("spec")):
        yield field.invalid("spec", new.get("spec"), checks.IMMUTABLE)


def _volume_attachment(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [
        name_of(obj),
        text_of(spec, "attacher"),
        text_of(mapping(spec, "source"), "persistentVolumeName"),
        text_of(spec, "nodeName"),
        flag(mapping(obj, "status"), "attached"),
        age(obj),
    ]


VOLUME_ATTACHMENT = BuiltinKind(
    "storage.k8s.io",
    "VolumeAttachment",
    namespaced=False,
    returns_deleted=True,
    strategy=Strategy(
        creation(status=lambda: {"attached": False}, generation=False),
        updating(),
        status_updating(*METADATA_OF_STATUS),
        has_status=True,
        allow_unconditional_update=False,
    ),
    validator=Validator(_attachment, _attachment_update),
    printer=Printer(
        columns=(
            NAME,
            Column("Attacher", f"{STORAGE}VolumeAttachmentSpec#attacher", format="name"),
            Column("PV", f"{STORAGE}VolumeAttachmentSource#persistentVolumeName"),
            Column("Node", f"{STORAGE}VolumeAttachmentSpec#nodeName"),
            Column("Attached", f"{STORAGE}VolumeAttachmentStatus#attached", type="boolean"),
            AGE,
        ),
        cells=_volume_attachment,
    ),
)
