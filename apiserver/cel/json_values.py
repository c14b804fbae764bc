"""JSON as expressions see it where no schema declares its fields, such as the objects of admission.

Source: cel-go's DefaultTypeAdapter, which k8s.io/apiserver/pkg/admission/plugin/cel uses for the objects of requests.
"""

from typing import Any

from apiserver.cel.values import MISSING, Mapper


class JsonMap(Mapper):
    """A JSON object; its values are converted when an expression reads them."""

    __slots__ = ("_values_read", "data")

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data
        self._values_read: dict[str, Any] = {}

    def __len__(self) -> int:
        return len(self.data)

    def key_list(self) -> list[Any]:
        """Return the keys."""
        return list(self.data)

    def find(self, key: Any) -> Any:
        """Return the value of a key, MISSING if there is none; no key is anything but a string."""
        if type(key) is not str or key not in self.data:
            return MISSING
        if key not in self._values_read:
            self._values_read[key] = json_value(self.data[key])
        return self._values_read[key]


def json_value(data: Any) -> Any:
    """Return a JSON value as expressions see it."""
    if type(data) is dict:
        return JsonMap(data)
    if type(data) is list:
        return [json_value(item) for item in data]
    return data
