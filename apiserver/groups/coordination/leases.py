"""Leases (coordination.k8s.io): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import same_on_update
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, mapping, text_of
from apiserver.groups.columns import AGE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PINNED

STRATEGIES = ("OldestEmulationVersion",)


def _validate_lease(lease: Obj) -> Iterator[FieldError]:
    spec = lease.get("spec") or {}
    seconds, strategy, preferred = (spec.get(name) for name in ("leaseDurationSeconds", "strategy", "preferredHolder"))
    if seconds is not None and seconds <= 0:
        yield field.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")
    yield from checks.not_negative("spec.leaseTransitions", spec.get("leaseTransitions"))
    if strategy is not None:
        yield from election_strategy(strategy)
    if preferred and not strategy:
        yield field.forbidden("spec.preferredHolder", "may only be specified if `strategy` is defined")


def election_strategy(strategy: str) -> checks.FieldErrors:
    """Return the errors of an election strategy; the doubled word in the path is upstream's."""
    if "/" in strategy:
        return checks.invalid_values("spec.strategy.strategy", strategy, names.qualified_name(strategy))
    return checks.one_of("spec.strategy.strategy", strategy, STRATEGIES)


def _lease_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(mapping(obj, "spec"), "holderIdentity"), age(obj)]


LEASE = BuiltinKind(
    "coordination.k8s.io",
    "Lease",
    creates_on_update=True,
    strategy=PINNED,
    validator=same_on_update(_validate_lease),
    printer=Printer(
        columns=(NAME, Column("Holder", "io.k8s.api.coordination.v1.LeaseSpec#holderIdentity"), AGE), cells=_lease_cells
    ),
)
