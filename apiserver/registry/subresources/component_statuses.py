"""ComponentStatuses: deprecated since 1.19 and still asked for; of the components here only the store answers."""

from collections.abc import Iterator

import orjson

from apiserver.api import errors
from apiserver.api.meta import Obj
from apiserver.registry.codec import Attached
from apiserver.registry.context import Written
from apiserver.registry.storage import Selected
from apiserver.registry.subresources.call import Call
from etcd.store import KeyValue

HEALTHY = {"type": "Healthy", "status": "True", "message": "ok"}


async def component_statuses(call: Call) -> Written | Selected:
    """One component, or all of them.

    Raises:
        ApiError: 404.
    """
    found = list(_components())
    if call.verb == "list":
        return Selected(found, call.registry.storage.store.revision)
    for kv in found:
        if kv.attached.fields["metadata.name"] == call.target.name:
            return Written(kv)
    raise errors.not_found("", "componentstatuses", call.target.name)


def _components() -> Iterator[KeyValue]:
    for name in ("etcd-0",):
        obj: Obj = {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": [HEALTHY]}
        yield KeyValue(name, orjson.dumps(obj), 0, 0, Attached({}, {"metadata.name": name}))
