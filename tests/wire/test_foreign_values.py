"""Values that somebody else puts into etcd where objects lie."""

from base64 import b64encode

import pytest

from apiserver.config import Config, ConfigError, EtcdAccess

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
FOREIGN = {
    "odd": b'{"metadata":{}}',
    "odder": b"k8s\x00\n",
    "oddest": b"[]",
    "cut": b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"cut","namespace":"default"},"data":{"a":"b',
    "nameless": b'{"kind":"ConfigMap","apiVersion":"v1","metadata":{"labels":{}}}',
}
"""Values by the names of their keys; the last two begin as this server writes its own."""


async def test_what_others_put_there_that_is_no_object_is_left_out(opened, shared_etcd, tmp_path):
    settings = Config(store=shared_etcd.url, etcd=EtcdAccess(prefix=f"/{tmp_path.name}"))
    (member,) = shared_etcd.members
    async with opened(settings) as api:
        start = (await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})).version
        async with api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={start}") as watched:
            for name, value in FOREIGN.items():
                key = b64encode(f"{settings.etcd.prefix}/configmaps/default/{name}".encode()).decode()
                member.call("kv/put", key=key, value=b64encode(value).decode())
            await api.post(CONFIG_MAPS, {"metadata": {"name": "b"}})
            (event,) = await watched.take(1)
        assert event["object"]["metadata"]["name"] == "b"
        assert [each["metadata"]["name"] for each in (await api.get(CONFIG_MAPS)).json["items"]] == ["a", "b"]
        assert (await api.delete(f"{CONFIG_MAPS}/odd")).code == 404
    with pytest.raises(ConfigError, match=r"/configmaps/default/cut' that is not of this server"):
        async with opened(settings):
            raise AssertionError("it starts on what it cannot read")
