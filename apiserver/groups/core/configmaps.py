"""ConfigMaps (core): validation and columns."""

from collections.abc import Iterator

from apiserver.api import field
from apiserver.api.field import FieldError
from apiserver.api.meta import Obj, name_of
from apiserver.api.validation import checks, names
from apiserver.api.validation.contract import Validator
from apiserver.groups.cell_format import age
from apiserver.groups.cells import Cells, count
from apiserver.groups.columns import AGE, CORE, NAME, Column, Printer
from apiserver.groups.kind import BuiltinKind
from apiserver.groups.strategy import PLAIN

_LOCKED = "field is immutable when `immutable` is set"

MAX_BYTES = 1024 * 1024


def _validate_config_map(config: Obj) -> Iterator[FieldError]:
    data, binary = config.get("data") or {}, config.get("binaryData") or {}
    for key in data:
        yield from data_key("data", key)
        if key in binary:
            yield field.invalid(f"data[{key}]", key, "duplicate of key present in binaryData")
    for key in binary:
        yield from data_key("binaryData", key)
    if _text_size(data) + decoded_size(binary) > MAX_BYTES:
        yield field.too_long("[]", MAX_BYTES)  # the whole object, as upstream's path without a name prints


def _config_map_update(new: Obj, old: Obj) -> Iterator[FieldError]:
    yield from immutable_data(new, old, ("data", "binaryData"))
    yield from _validate_config_map(new)


def immutable_data(new: Obj, old: Obj, data_fields: tuple[str, ...]) -> Iterator[FieldError]:
    """Yield an error for each change of an immutable ConfigMap or Secret."""
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield field.forbidden("immutable", _LOCKED)
    for name in data_fields:
        if not checks.equal_or_both_empty(new.get(name), old.get(name)):
            yield field.forbidden(name, _LOCKED)


def data_key(path: str, key: str) -> checks.FieldErrors:
    """Return the errors of a key of data."""
    messages = names.config_map_key(key)
    return checks.invalid_values(f"{path}[{key}]", key, messages) if messages else ()


def _text_size(data: dict[str, str]) -> int:
    characters = sum(map(len, filter(None, data.values())))
    if characters * 4 <= MAX_BYTES:  # no character has more than four bytes
        return characters
    return sum(len(value.encode(errors="surrogatepass")) for value in data.values() if value)


def decoded_size(data: dict[str, str]) -> int:
    """Return the size in bytes of base64 values once decoded."""
    return sum(len(value) * 3 // 4 - value.count("=", -2) for value in data.values() if value)


def _config_map_cells(obj: Obj) -> Cells:
    return [name_of(obj), count(obj, "data") + count(obj, "binaryData"), age(obj)]


CONFIG_MAP = BuiltinKind(
    "",
    "ConfigMap",
    ("cm",),
    strategy=PLAIN,
    validator=Validator(_validate_config_map, _config_map_update),
    printer=Printer(columns=(NAME, Column("Data", f"{CORE}ConfigMap#data"), AGE), cells=_config_map_cells),
)
