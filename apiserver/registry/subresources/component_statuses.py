"""ComponentStatuses: deprecated since 1.19, but still in use.

Only the store is listed, as etcd-0, whichever it is. This server does not know whether a controller manager and a
scheduler run: upstream probes ports of its own machine, where this server's manager need not be.
"""

import orjson

from apiserver.api import errors
from apiserver.api.meta import Obj
from apiserver.registry.codec import IndexAttrs
from apiserver.registry.context import WriteResult
from apiserver.registry.storage import ListPage
from apiserver.registry.subresources.call import SubresourceRequest
from etcd.store import KeyValue


async def component_statuses(call: SubresourceRequest) -> WriteResult | ListPage:
    """Return one component, or all of them.

    Raises:
        ApiError: 404.
    """
    store = call.registry.storage.store
    components = [_component("etcd-0", store.health_error)]
    if call.verb == "list":
        return ListPage(components, store.revision)
    for kv in components:
        if kv.index_attrs.fields["metadata.name"] == call.target.name:
            return WriteResult(kv)
    raise errors.not_found("", "componentstatuses", call.target.name)


def _component(name: str, error: str) -> KeyValue:
    """Return the status of a component; it is healthy if the error is empty."""
    state = {"status": "False", "error": error} if error else {"status": "True", "message": "ok"}
    conditions = [{"type": "Healthy"} | state]
    obj: Obj = {"kind": "ComponentStatus", "apiVersion": "v1", "metadata": {"name": name}, "conditions": conditions}
    return KeyValue(name, orjson.dumps(obj), 0, 0, IndexAttrs({}, {"metadata.name": name}))
