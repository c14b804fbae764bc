"""ServiceAccounts (core): strategy and columns."""

from apiserver.api.meta import Obj, name_of
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, count
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import Strategy, unchanged


def _prepare_account(account: Obj) -> None:
    """Keep only the names of the account's secrets."""
    if account.get("secrets"):
        account["secrets"] = [{"name": secret["name"]} if secret.get("name") else {} for secret in account["secrets"]]


def _update_account(new: Obj, _old: Obj) -> None:
    _prepare_account(new)


SERVICE_ACCOUNT_STRATEGY = Strategy(_prepare_account, _update_account, unchanged, allow_unconditional_update=False)


def _service_account(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "secrets"), age(obj)]


SERVICE_ACCOUNT = BuiltinKind(
    "",
    "ServiceAccount",
    ("sa",),
    subresources=("token",),
    returns_deleted=True,
    strategy=SERVICE_ACCOUNT_STRATEGY,
    printer=Printer(columns=(NAME, Column("Secrets", f"{CORE}ServiceAccount#secrets"), AGE), cells=_service_account),
)
