"""What ConfigMaps and Secrets may hold, what a Secret's type asks for, and what immutable means (pkg/apis/core)."""

import base64
from collections.abc import Callable, Iterator

import orjson

from apiserver.api import field, json_syntax
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Errors, Validator

_MOST_BYTES = 1024 * 1024
_LOCKED = "field is immutable when `immutable` is set"
_ACCOUNT = "kubernetes.io/service-account.name"


def _config_map(config: Obj) -> Iterator[FieldError]:
    data, binary = config.get("data") or {}, config.get("binaryData") or {}
    for key in data:
        yield from _key("data", key)
        if key in binary:
            yield field.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from _key("binaryData", key)
    if _text_size(data) + _decoded_size(binary) > _MOST_BYTES:
        yield field.too_long("[]", _MOST_BYTES)  # the whole object, as upstream's path without a name prints


def _config_map_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from _locked(new, old, ("data", "binaryData"))
    yield from _config_map(new)


def _locked(new: Obj, old: Obj, names_of_data: tuple[str, ...]) -> Iterator[FieldError]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield field.forbidden("immutable", _LOCKED)
    for name in names_of_data:
        if not checks.same(new.get(name), old.get(name)):
            yield field.forbidden(name, _LOCKED)


def _key(path: str, key: str) -> checks.Found:
    messages = names.config_map_key(key)
    return checks.wrong(f"{path}[{key}]", key, messages) if messages else ()


def _text_size(data: dict[str, str]) -> int:
    characters = sum(map(len, filter(None, data.values())))
    if characters * 4 <= _MOST_BYTES:  # no character has more than four bytes
        return characters
    return sum(len(value.encode(errors="surrogatepass")) for value in data.values() if value)


def _decoded_size(data: dict[str, str]) -> int:
    return sum(len(value) * 3 // 4 - value.count("=", -2) for value in data.values() if value)


def _secret(secret: Obj) -> Iterator[FieldError]:
    data = secret.get("data") or {}
    for key in data:
        yield from _key("data", key)
    if _decoded_size(data) > _MOST_BYTES:
        yield field.too_long("data", _MOST_BYTES)
    check = _TYPES.get(secret.get("type", ""))
    if check is not None:
        yield from check(secret, data)


def _secret_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from checks.immutable("type", new.get("type"), old.get("type"))
    yield from _locked(new, old, ("data",))
    yield from _secret(new)


_Data = dict[str, str]
_SecretCheck = Callable[[Obj, _Data], Errors]


def _account_token(secret: Obj, _data: _Data) -> Errors:
    annotations = secret["metadata"].get("annotations") or {}
    return checks.needed(f"metadata.annotations[{_ACCOUNT}]", annotations.get(_ACCOUNT))


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
    return checks.needed("data[ssh-privatekey]", data.get("ssh-privatekey"))


_TYPES: dict[str, _SecretCheck] = {
    "kubernetes.io/service-account-token": _account_token,
    "kubernetes.io/dockercfg": _json_under(".dockercfg"),
    "kubernetes.io/dockerconfigjson": _json_under(".dockerconfigjson"),
    "kubernetes.io/basic-auth": _user_or_password,
    "kubernetes.io/ssh-auth": _ssh_key,
    "kubernetes.io/tls": _all_of("tls.crt", "tls.key"),
}

VALIDATORS = {
    ("", "ConfigMap"): Validator(_config_map, _config_map_update),
    ("", "Secret"): Validator(_secret, _secret_update),
}
