"""Servers over an etcd cluster: each sees at once what the others write, and all of them do without it for a while."""

import asyncio
import json
from base64 import b64decode, b64encode
from itertools import count

import pytest
from gateway_steps import answer_within
from patience import SECONDS

from apiserver.config import Config, EtcdAccess
from apiserver.registry.serviceip import reservations
from etcd.store import Unreachable

pytestmark = pytest.mark.usefixtures("patient_store")
NAMESPACES = "/api/v1/namespaces"
CONFIG_MAPS = f"{NAMESPACES}/default/configmaps"
SERVICES = f"{NAMESPACES}/default/services"
_numbers = count(1)


def config(url, **changes):
    """The settings of a server that has its keys for itself."""
    return Config(store=url, etcd=EtcdAccess(prefix=f"/wire{next(_numbers)}"), **changes)


def config_map(name, **data):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def service(name, **spec):
    ports = {"type": "NodePort", "ports": [{"port": 80}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": ports | spec}


def claimed(api):
    """The addresses and ports that are claimed."""
    claims = api.running.registry.storage.store.range(reservations.RESERVATIONS).items
    return [kv.key.rpartition("/")[2] for kv in claims]


@pytest.fixture
async def two(opened, shared_etcd):
    """Clients of two servers over one etcd."""
    settings = config(shared_etcd.url, service_cluster_ip_range="10.96.0.0/27", service_node_port_range=(30000, 30019))
    async with opened(settings) as one, opened(settings) as other:
        yield one, other


async def test_keys_and_values_are_those_of_kube_apiserver(opened, shared_etcd):
    settings = config(shared_etcd.url)
    async with opened(settings) as api:
        made = await api.post(CONFIG_MAPS, config_map("a", key="value"))
    key = b64encode(f"{settings.etcd.prefix}/configmaps/default/a".encode()).decode()
    (kv,) = shared_etcd.members[0].call("kv/range", key=key)["kvs"]
    obj = json.loads(b64decode(kv["value"]))
    assert (obj["apiVersion"], obj["kind"], obj["data"]) == ("v1", "ConfigMap", {"key": "value"})
    assert obj["metadata"]["uid"] == made.json["metadata"]["uid"]


async def test_what_one_server_has_acknowledged_the_other_tells(two):
    one, other = two
    for number in range(30):
        here, there = (one, other) if number % 2 else (other, one)
        made = await here.post(CONFIG_MAPS, config_map(f"a{number}"))
        reply = await there.get(f"{CONFIG_MAPS}/a{number}")
        assert (reply.code, reply.version) == (200, made.version)
        listed = (await there.get(CONFIG_MAPS)).json["items"]
        assert f"a{number}" in {each["metadata"]["name"] for each in listed}
        assert (await here.delete(f"{CONFIG_MAPS}/a{number}")).code == 200
        assert (await there.get(f"{CONFIG_MAPS}/a{number}")).code == 404


async def test_of_two_changes_of_one_state_one_is_refused(two):
    one, other = two
    made = (await one.post(CONFIG_MAPS, config_map("a"))).json
    replies = await asyncio.gather(
        *(api.put(f"{CONFIG_MAPS}/a", made | {"data": {"by": str(index)}}) for index, api in enumerate(two))
    )
    assert sorted(reply.code for reply in replies) == [200, 409]
    winner = next(reply for reply in replies if reply.code == 200)
    assert (await other.get(f"{CONFIG_MAPS}/a")).json["data"] == winner.json["data"]


async def test_no_increment_is_lost_between_servers(two):
    await two[0].post(CONFIG_MAPS, config_map("a", number="0"))

    async def increment(api):
        for _ in range(20):
            while True:
                body = (await api.get(f"{CONFIG_MAPS}/a")).json
                body["data"]["number"] = str(int(body["data"]["number"]) + 1)
                if (await api.put(f"{CONFIG_MAPS}/a", body)).code == 200:
                    break

    await asyncio.gather(*map(increment, two))
    assert (await two[0].get(f"{CONFIG_MAPS}/a")).json["data"] == {"number": "40"}


async def test_a_watch_at_one_server_tells_what_is_written_at_the_other(two):
    one, other = two
    start = (await one.get(CONFIG_MAPS)).version
    async with other.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={start}") as watched:
        await one.post(CONFIG_MAPS, config_map("a"))
        await one.patch(f"{CONFIG_MAPS}/a", {"data": {"key": "value"}})
        await one.delete(f"{CONFIG_MAPS}/a")
        assert [event["type"] for event in await watched.take(3)] == ["ADDED", "MODIFIED", "DELETED"]


async def test_a_list_goes_on_at_another_server(two):
    one, other = two
    for number in range(5):
        await one.post(CONFIG_MAPS, config_map(f"a{number}"))
    first = (await one.get(f"{CONFIG_MAPS}?limit=2")).json
    await one.delete(f"{CONFIG_MAPS}/a4")
    rest = (await other.get(f"{CONFIG_MAPS}?limit=9&continue={first['metadata']['continue']}")).json
    names = [each["metadata"]["name"] for page in (first, rest) for each in page["items"]]
    assert [name for name in names if name.startswith("a")] == ["a0", "a1", "a2", "a3", "a4"]


async def test_a_list_goes_on_at_a_server_that_began_later(opened, shared_etcd):
    settings = config(shared_etcd.url)
    async with opened(settings) as elder:
        for number in range(7):
            labels = {"even": "yes"} if number % 2 == 0 else {}
            made = config_map(f"a{number}")
            made["metadata"]["labels"] = labels
            await elder.post(CONFIG_MAPS, made)
        everything = (await elder.get(f"{CONFIG_MAPS}?limit=3")).json["metadata"]
        even = (await elder.get(f"{CONFIG_MAPS}?limit=1&labelSelector=even")).json["metadata"]
        await elder.delete(f"{CONFIG_MAPS}/a4")
        async with opened(settings) as younger:
            rest = (await younger.get(f"{CONFIG_MAPS}?limit=2&continue={everything['continue']}")).json
            assert rest["metadata"]["resourceVersion"] == everything["resourceVersion"]
            assert rest["metadata"]["remainingItemCount"] == everything["remainingItemCount"] - 2
            last = (await younger.get(f"{CONFIG_MAPS}?continue={rest['metadata']['continue']}")).json
            names = [each["metadata"]["name"] for page in (rest, last) for each in page["items"]]
            assert [name for name in names if name.startswith("a")] == ["a3", "a4", "a5", "a6"]
            rest = (await younger.get(f"{CONFIG_MAPS}?labelSelector=even&continue={even['continue']}")).json
            assert [each["metadata"]["name"] for each in rest["items"]] == ["a2", "a4", "a6"]
            then = f"resourceVersionMatch=Exact&resourceVersion={everything['resourceVersion']}"
            assert len((await younger.get(f"{CONFIG_MAPS}?{then}")).json["items"]) == 7


async def test_a_namespace_is_there_for_both_as_soon_as_it_is_made(two):
    one, other = two
    for number in range(10):
        assert (await one.post(NAMESPACES, {"metadata": {"name": f"n{number}"}})).code == 201
        assert (await other.post(f"{NAMESPACES}/n{number}/configmaps", config_map("a"))).code == 201


async def test_no_address_and_no_port_is_given_twice_and_what_is_free_again_is_found_by_both(two):
    async def fill(wave, number):
        names = [f"s{wave}-{each}" for each in range(number)]
        replies = await asyncio.gather(*(two[n % 2].post(SERVICES, service(name)) for n, name in enumerate(names)))
        assert {reply.code for reply in replies} == {201}, [reply.text for reply in replies if reply.code != 201]
        return replies

    made = await fill(1, 20)
    assert len({reply.json["spec"]["clusterIP"] for reply in made}) == 20
    assert len({reply.json["spec"]["ports"][0]["nodePort"] for reply in made}) == 20
    full = await two[0].post(SERVICES, service("one-more"))
    assert full.code == 500
    assert "failed to allocate a nodePort: range is full" in full.json["message"]
    for reply in made:
        await two[0].delete(f"{SERVICES}/{reply.json['metadata']['name']}")
    async with asyncio.timeout(SECONDS):
        while (again := await two[1].post(SERVICES, service("again"))).code != 201:
            assert again.code == 500, again.text
    await two[1].delete(f"{SERVICES}/again")


async def test_what_a_service_had_can_be_asked_for_as_soon_as_it_is_deleted(two):
    wish = {"clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30009}]}
    for _ in range(10):
        made = await two[0].post(SERVICES, service("a", **wish))
        assert made.code == 201, made.text
        assert (await two[0].delete(f"{SERVICES}/a")).code == 200


async def test_a_server_that_hears_late_of_a_deletion_leaves_the_claims_of_the_next_service(opened, shared_etcd):
    settings = config(shared_etcd.url)
    wish = {"clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30009}]}
    async with opened(settings) as api:
        claims = api.running.registry.reservations
        heard, take_in = asyncio.Event(), claims._record_write
        late = []

        async def hear_late(event):
            late.append(event)
            heard.set()

        claims._record_write = hear_late
        await api.post(SERVICES, service("a", **wish))
        await api.delete(f"{SERVICES}/a")
        assert (await api.post(SERVICES, service("b", **wish))).code == 201
        async with asyncio.timeout(SECONDS):
            while len(late) < 3:
                heard.clear()
                await heard.wait()
        for event in late:
            await take_in(event)
        assert claimed(api) == ["10.96.0.9", "30009"]
        assert (await api.post(SERVICES, service("c", **wish))).code == 422


async def test_what_a_service_has_stays_claimed_where_etcd_did_not_say_whether_it_was_written(two, monkeypatch):
    one, _ = two
    store = one.running.registry.storage.store
    put = store.put

    async def put_unseen(key, value, **more):
        done = await put(key, value, **more)
        if "/services/specs/" in key:
            raise Unreachable("no answer", unknown=True)
        return done

    wish = {"clusterIP": "10.96.0.9", "ports": [{"port": 80, "nodePort": 30009}]}
    monkeypatch.setattr(store, "put", put_unseen)
    assert (await one.post(SERVICES, service("a", **wish))).code == 503
    assert claimed(one) == ["10.96.0.9", "30009"]
    for api in two:
        assert (await api.post(SERVICES, service("b", **wish))).code == 422


async def test_a_port_that_a_service_of_the_other_server_has_is_refused(two):
    one, other = two
    wish = {"ports": [{"port": 80, "nodePort": 30007}]}
    assert (await one.post(SERVICES, service("a", **wish))).code == 201
    refused = await other.post(SERVICES, service("b", **wish))
    assert (refused.code, refused.json["details"]["causes"][0]["field"]) == (422, "spec.ports[0].nodePort")
    assert "provided port is already allocated" in refused.json["message"]


async def test_what_was_claimed_for_a_service_that_was_never_written_is_free_again(
    opened, shared_etcd, monkeypatch, caplog
):
    monkeypatch.setattr(reservations, "MAX_WRITE_SECONDS", 0.2)
    settings = config(shared_etcd.url)
    key = b64encode(f"{settings.etcd.prefix}/ranges/servicenodeports/30001".encode()).decode()
    shared_etcd.members[0].call("kv/put", key=key, value=b64encode(b'{"metadata":{"name":"30001"}}').decode())
    async with opened(settings) as api, asyncio.timeout(SECONDS):
        wish = {"ports": [{"port": 80, "nodePort": 30001}]}
        while (await api.post(SERVICES, service("a", **wish))).code != 201:
            pass
    assert "was reserved but never used and is free again" in caplog.text


async def test_a_kind_that_one_server_learns_both_serve(two, request):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    spec = {
        "group": "example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
    }
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition"}
    assert (
        await two[0].post(path, definition | {"metadata": {"name": "widgets.example.com"}, "spec": spec})
    ).code == 201
    here = "/apis/example.com/v1/namespaces/default/widgets"
    for api in two:
        async with asyncio.timeout(SECONDS):
            while (await api.get(here)).code != 200:
                pass
    made = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "size": 1}
    assert (await two[0].post(here, made)).code == 201
    assert (await two[1].get(f"{here}/a")).json["size"] == 1


async def test_selectable_fields_select_what_another_server_wrote(two):
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    color = {"type": "string", "default": "red"}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"color": color}}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    version["selectableFields"] = [{"jsonPath": ".spec.color"}]
    names = {"plural": "paints", "kind": "Paint"}
    spec = {"group": "example.com", "scope": "Namespaced", "names": names, "versions": [version]}
    made = await two[0].post(path, {"metadata": {"name": "paints.example.com"}, "spec": spec})
    assert made.code == 201, made.text
    here = "/apis/example.com/v1/namespaces/default/paints"
    for api in two:
        async with asyncio.timeout(SECONDS):
            while (await api.get(here)).code != 200:
                pass
    paint = {"apiVersion": "example.com/v1", "kind": "Paint"}
    for name, wish in {"a": {}, "b": {"color": "red"}, "c": {"color": "blue"}}.items():
        assert (await two[0].post(here, paint | {"metadata": {"name": name}, "spec": wish})).code == 201
    for api in two:
        items = (await api.get(f"{here}?fieldSelector=spec.color%3Dred")).json["items"]
        assert [each["metadata"]["name"] for each in items] == ["a", "b"]


async def test_without_etcd_writes_are_refused_for_a_moment_and_watches_wait(opened, clusters, tmp_path):
    with clusters.running(tmp_path / "etcd") as etcd:
        async with opened(config(etcd.url)) as api:
            start = (await api.post(CONFIG_MAPS, config_map("a"))).version
            async with api.watch(f"{CONFIG_MAPS}?watch=1&resourceVersion={start}") as watched:
                etcd.kill()
                refused = await api.post(CONFIG_MAPS, config_map("b"))
                assert (refused.code, refused.json["reason"]) == (503, "ServiceUnavailable")
                assert refused.headers["Retry-After"] == "1"
                assert refused.json["message"].startswith("etcd does not answer: no member of the etcd cluster answers")
                assert (await api.get(f"{CONFIG_MAPS}/a")).code == 503, "what is newest cannot be known"
                assert (await api.get(f"{CONFIG_MAPS}/a?resourceVersion=0")).code == 200
                assert (await api.get(CONFIG_MAPS)).code == 503
                assert (await api.get(f"{CONFIG_MAPS}?resourceVersion=0")).code == 200
                async with asyncio.timeout(SECONDS):
                    while (await api.get("/readyz")).code == 200:
                        pass
                reply = await api.get("/readyz/etcd")
                assert reply.text.startswith("internal server error: ")
                assert etcd.url in reply.text
                etcd.start()
                async with asyncio.timeout(SECONDS):
                    while (await api.post(CONFIG_MAPS, config_map("b"))).code != 201:
                        pass
                    (event,) = await watched.take(1)
                    while (await api.get("/readyz")).code != 200:
                        pass
    assert (event["type"], event["object"]["metadata"]["name"]) == ("ADDED", "b")


async def test_a_write_that_a_silent_etcd_may_have_carried_out_is_not_asked_for_again(opened, clusters, tmp_path):
    with clusters.running(tmp_path / "etcd") as etcd:
        async with opened(config(etcd.url)) as api:
            (member,) = etcd.members
            answer_within(api.running.registry.storage.store, 1)
            member.pause()
            try:
                unanswered = await api.post(CONFIG_MAPS, {"metadata": {"generateName": "a-"}})
            finally:
                member.resume()
            assert unanswered.code == 503
            assert "the request may have been carried out or not" in unanswered.message
            assert "Retry-After" not in unanswered.headers, "client-go would make another one"
            assert "retryAfterSeconds" not in unanswered.json.get("details", {})


async def test_what_etcd_refuses_is_told_in_its_words(opened, clusters, tmp_path):
    with clusters.running(tmp_path / "etcd", flags=("--quota-backend-bytes", "2000000")) as etcd:
        async with opened(config(etcd.url)) as api:
            async with asyncio.timeout(SECONDS):
                for number in count():
                    refused = await api.post(CONFIG_MAPS, config_map(f"a{number}", text="x" * 400_000))
                    if refused.code != 201:
                        break
            assert (refused.code, refused.json["message"]) == (500, "etcdserver: mvcc: database space exceeded")
            assert (await api.get(CONFIG_MAPS)).code == 200


def event(name):
    about = {"kind": "Pod", "namespace": "default", "name": "web"}
    return {"apiVersion": "v1", "kind": "Event", "metadata": {"name": name}, "involvedObject": about, "reason": "Seen"}


EVENTS = f"{NAMESPACES}/default/events"


async def names_of_events(api):
    return [each["metadata"]["name"] for each in (await api.get(EVENTS)).json["items"]]


async def until_there_are(api, names):
    """Wait until there are these Events and no others."""
    async with asyncio.timeout(SECONDS):
        while await names_of_events(api) != names:
            pass


def leases_of(etcd):
    """The ids of all leases."""
    return {lease["ID"] for lease in etcd.members[0].call("lease/leases").get("leases", ())}


def end(etcd, leases):
    """Have etcd end leases, as it does when their time is over."""
    for lease in leases:
        etcd.members[0].call("lease/revoke", ID=lease)


@pytest.fixture
def own_etcd(clusters, tmp_path):
    """An etcd that no other test writes to, so that all leases are the test's."""
    with clusters.running(tmp_path / "etcd") as etcd:
        yield etcd


async def test_events_share_a_lease_and_go_with_it(opened, own_etcd, monkeypatch):
    monkeypatch.setattr("etcd.leases.LEASE_REUSE_DURATION", SECONDS)
    async with opened(config(own_etcd.url, event_ttl=1000 * SECONDS)) as api:
        for number in range(5):
            assert (await api.post(EVENTS, event(f"e{number}"))).code == 201
        (lease,) = leases_of(own_etcd)
        end(own_etcd, [lease])
        await until_there_are(api, [])


async def test_an_event_that_is_written_again_gets_another_lease_and_outlives_those_of_its_first(opened, own_etcd):
    async with opened(config(own_etcd.url)) as api:
        for number in range(2):
            assert (await api.post(EVENTS, event(f"e{number}"))).code == 201
        first = leases_of(own_etcd)
        api.running.registry.storage.store._leases.discard()
        assert (await api.patch(f"{EVENTS}/e0", {"count": 2})).code == 200
        second = leases_of(own_etcd) - first
        end(own_etcd, first)
        await until_there_are(api, ["e0"])
        end(own_etcd, second)
        await until_there_are(api, [])


async def test_a_lease_is_for_as_long_as_events_are_kept_and_while_it_is_shared(opened, own_etcd):
    async with opened(config(own_etcd.url, event_ttl=1000.0)) as api:
        assert (await api.post(EVENTS, event("a"))).code == 201
        (lease,) = leases_of(own_etcd)
        time_to_live = own_etcd.members[0].call("lease/timetolive", ID=lease)
        assert int(time_to_live["grantedTTL"]) == 1000 + 1000 // 20 + 1


async def test_events_are_gone_when_their_time_is_over(opened, own_etcd):
    async with opened(config(own_etcd.url, event_ttl=1.0)) as api:
        assert (await api.post(EVENTS, event("a"))).code == 201
        await until_there_are(api, [])


async def test_a_lease_that_etcd_has_forgotten_is_replaced(opened, own_etcd):
    async with opened(config(own_etcd.url)) as api:
        assert (await api.post(EVENTS, event("a"))).code == 201
        end(own_etcd, leases_of(own_etcd))
        assert (await api.post(EVENTS, event("b"))).code == 201
        assert await names_of_events(api) == ["b"]
