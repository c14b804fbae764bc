"""Secrets (core): defaults, validation and columns."""

import base64
from base64 import b64encode
from collections.abc import Callable, Iterator

import orjson

from apiserver.api import field, json_syntax
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks
from apiserver.api.validation.contract import Errors, Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, count, text_of
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.core.configmaps import MAX_BYTES, data_key, decoded_size, immutable_data
from apiserver.groups.field_labels import at_paths
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN


def default_secret(secret: Obj) -> None:
    """Set the default type of a Secret, and move the write-only stringData into data (conversion)."""
    secret.setdefault("type", "Opaque")
    plain = secret.pop("stringData", None)
    if plain:
        encoded = {key: b64encode(text.encode()).decode() for key, text in plain.items()}
        secret["data"] = (secret.get("data") or {}) | encoded


_ACCOUNT = "kubernetes.io/service-account.name"


def _validate_secret(secret: Obj) -> Iterator[FieldError]:
    data = secret.get("data") or {}
    for key in data:
        yield from data_key("data", key)
    if decoded_size(data) > MAX_BYTES:
        yield field.too_long("data", MAX_BYTES)
    check = _TYPES.get(secret.get("type", ""))
    if check is not None:
        yield from check(secret, data)


def _secret_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from checks.immutable("type", new.get("type"), old.get("type"))
    yield from immutable_data(new, old, ("data",))
    yield from _validate_secret(new)


_Data = dict[str, str]

_SecretCheck = Callable[[Obj, _Data], Errors]


def _account_token(secret: Obj, _data: _Data) -> Errors:
    annotations = secret["metadata"].get("annotations") or {}
    return checks.required(f"metadata.annotations[{_ACCOUNT}]", annotations.get(_ACCOUNT))


def _json_under(key: str) -> _SecretCheck:
    def check(_secret: Obj, data: _Data) -> Iterator[FieldError]:
        if key not in data:
            yield field.required(f"data[{key}]")
        elif problem := _json_problem(base64.b64decode(data[key])):
            yield field.invalid(f"data[{key}]", "<secret contents redacted>", problem)

    return check


def _json_problem(text: bytes) -> str:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return json_syntax.problem(text.decode(errors="replace"))
    if value is None or isinstance(value, dict):
        return ""
    return f"json: cannot unmarshal {json_syntax.type_name(value)} into Go value of type map[string]interface {{}}"


def _all_of(*keys: str) -> _SecretCheck:
    def check(_secret: Obj, data: _Data) -> Iterator[FieldError]:
        for key in keys:
            if key not in data:
                yield field.required(f"data[{key}]")

    return check


def _user_or_password(_secret: Obj, data: _Data) -> Iterator[FieldError]:
    if "username" not in data and "password" not in data:
        yield field.required("data[username]")
        yield field.required("data[password]")


def _ssh_key(_secret: Obj, data: _Data) -> Errors:
    return checks.required("data[ssh-privatekey]", data.get("ssh-privatekey"))


_TYPES: dict[str, _SecretCheck] = {
    "kubernetes.io/service-account-token": _account_token,
    "kubernetes.io/dockercfg": _json_under(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _json_under(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _user_or_password,
    "kubernetes.io/ssh-auth": _ssh_key,
    "kubernetes.io/tls": _all_of("tls.crt", "tls.key"),
}


def _secret_cells(obj: Obj) -> Cells:
    return [name_of(obj), text_of(obj, "type"), count(obj, "data"), age(obj)]


SECRET = BuiltinKind(
    "",
    "Secret",
    fields=("type",),
    default=default_secret,
    strategy=PLAIN,
    validator=Validator(_validate_secret, _secret_update),
    field_labels=at_paths("type"),
    printer=Printer(
        columns=(NAME, Column("Type", f"{CORE}Secret#type"), Column("Data", f"{CORE}Secret#data"), AGE),
        cells=_secret_cells,
    ),
)
