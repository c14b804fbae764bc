"""Objects that another release stored, in a version that is not this one's."""

import orjson
import pytest

from apiserver.api.resources import ResourceTable
from apiserver.registry.codec import Codec
from apiserver.release import load_release
from etcd.store import KeyValue

GROUP = "flowcontrol.apiserver.k8s.io"


@pytest.mark.parametrize("stored", ["v1", "v1beta2", "v1beta3"])
@pytest.mark.parametrize(("release", "served"), [("1.25", "v1beta1"), ("1.25", "v1beta2"), ("1.37", "v1")])
def test_what_another_release_stored_is_answered_whole(release: str, served: str, stored: str) -> None:
    resource = ResourceTable(load_release(release).rows).find(GROUP, served, "flowschemas")
    assert resource
    codec, meta = Codec(resource), {"name": "exempt", "uid": "1"}
    value = orjson.dumps({"kind": "FlowSchema", "apiVersion": f"{GROUP}/{stored}", "metadata": meta, "spec": {}})
    kv = KeyValue("/registry/flowschemas/exempt", value, 5, 7, None)
    whole = {"metadata": meta | {"resourceVersion": "7"}, "spec": {}}
    head = {"kind": "FlowSchema", "apiVersion": f"{GROUP}/{served}"}
    assert orjson.loads(codec.json(kv)) == codec.decode(kv) == head | whole
    assert orjson.loads(b"[%b]" % b"".join(codec.items([kv, kv]))) == [whole, whole]
