"""LeaseCandidates (coordination.k8s.io): validation and columns."""

import re
from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.coordination.leases import STRATEGIES, election_strategy
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.notices import stored
from apiserver.groups.strategy import PINNED

_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?")


def _candidate(candidate: Obj) -> Iterator[FieldError]:
    spec = candidate.get("spec") or {}
    emulated, binary, strategy = (spec.get(name) or "" for name in ("emulationVersion", "binaryVersion", "strategy"))
    yield from checks.required("spec.leaseName", spec.get("leaseName"))
    for name, version in (("emulationVersion", emulated), ("binaryVersion", binary)):
        if version and not _VERSION.fullmatch(version):
            yield field.invalid(f"spec.{name}", version, "must be a valid semantic version")
        elif name == "binaryVersion":
            yield from checks.required("spec.binaryVersion", version)
    if emulated and binary and _numbers(binary) < _numbers(emulated):
        yield field.invalid("spec.binaryVersion", binary, "must be greater than or equal to `emulationVersion`")
    if not strategy:
        yield field.required("spec.strategy")
        return
    if strategy in STRATEGIES and not any(_numbers(emulated)):
        detail = f"must be specified when `strategy` is '{strategy}'"
        yield field.required("spec.emulationVersion", detail)
    yield from election_strategy(strategy)


def _numbers(version: str) -> tuple[int, ...]:
    match = _VERSION.fullmatch(version)
    return tuple(map(int, match.group(1, 2, 3))) if match else (0, 0, 0)


def _candidate_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _candidate(new)
    name, before = ((obj.get("spec") or {}).get("leaseName") for obj in (new, old))
    yield from checks.immutable("spec.leaseName", name, before)


def _lease_candidate(obj: Obj) -> Cells:
    spec = mapping(obj, "spec")
    return [name_of(obj), *[text_of(spec, key) for key in ("leaseName", "binaryVersion", "emulationVersion")], age(obj)]


LEASE_CANDIDATE = BuiltinKind(
    "coordination.k8s.io",
    "LeaseCandidate",
    creates_on_update=True,
    strategy=PINNED,
    validator=Validator(_candidate, _candidate_update),
    printer=Printer(
        columns=(
            NAME,
            Column("LeaseName", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#leaseName"),
            Column("BinaryVersion", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#binaryVersion"),
            Column("EmulationVersion", "io.k8s.api.coordination.v1beta1.LeaseCandidateSpec#emulationVersion"),
            AGE,
        ),
        cells=_lease_candidate,
    ),
    notices=stored("LeaseCandidate", "has no coordinated leader election", "is elected by nobody"),
)
