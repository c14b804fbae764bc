"""Services (core): the kind."""

from apiserver.api.validation import names
from apiserver.api.validation.contract import Validator
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.services.columns import service_cells
from apiserver.groups.core.services.defaults import default_service
from apiserver.groups.core.services.strategy import SERVICE_STRATEGY
from apiserver.groups.core.services.validation import create, status_update, update
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import ALL, BuiltinKind

SERVICE = BuiltinKind(
    "",
    "Service",
    ("svc",),
    categories=ALL,
    subresources=("proxy",),
    fields=("spec.clusterIP", "spec.type"),
    creates_on_update=True,
    prefix="services/specs",
    default=default_service,
    returns_deleted=True,
    strategy=SERVICE_STRATEGY,
    validator=Validator(create, update, status_update),
    field_labels=at_paths("spec.clusterIP", "spec.type"),
    printer=Printer(
        columns=(
            NAME,
            Column("Type", f"{CORE}ServiceSpec#type"),
            Column("Cluster-IP", f"{CORE}ServiceSpec#clusterIP"),
            Column("External-IP", f"{CORE}ServiceSpec#externalIPs"),
            Column("Port(s)", f"{CORE}ServiceSpec#ports"),
            AGE,
            Column("Selector", f"{CORE}ServiceSpec#selector", priority=1),
        ),
        cells=service_cells,
    ),
    name_rule=names.dns1035_label,
)
