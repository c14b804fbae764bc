"""Events on a real server: sent in the background, counted, and never in the way."""

import asyncio
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web
from patience import SECONDS

from apiserver.api.meta import Obj
from controller_manager.reconcile.contract import WARNING, Create, Delete, RecordEvent
from controller_manager.reconcile.kinds import CONFIG_MAP, EVENT, NAMESPACE
from controller_manager.runtime import client as clients
from controller_manager.runtime import event_recorder
from controller_manager.runtime.client import Client
from controller_manager.runtime.clock import Clock
from controller_manager.runtime.event_recorder import Recorder
from controller_manager.runtime.kubeconfig import ClientConfig, load_kubeconfig

REGARDING: Obj = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "default", "uid": "u", "resourceVersion": "1"},
}


@pytest.fixture
def events_once(client):
    """events_once(is_so, path): the server's Events, once they are so."""

    async def wait(is_so, path="/api/v1/events"):
        async with asyncio.timeout(SECONDS):
            while not is_so(items := (await client.get_json(path))["items"]):
                pass
        return items

    return wait


async def test_events_are_counted_and_combined_on_the_server(client, events_once, beside, hasty):
    recorder = Recorder(client, hasty)
    for _ in range(3):
        recorder.record(RecordEvent(REGARDING, "Same", "it did"), "x-controller")
    for number in range(12):
        recorder.record(RecordEvent(REGARDING, "Similar", f"m{number}", WARNING), "y-controller")
    async with beside(recorder.run()):
        events = await events_once(lambda items: len(items) == 11 and items[10]["count"] == 3)
    assert [(item["reason"], item["count"]) for item in events[:2]] == [("Same", 3), ("Similar", 1)]
    assert events[10]["message"] == "(combined from similar events): m11"
    assert events[10]["type"] == "Warning"
    assert events[0]["source"] == {"component": "x-controller"}
    assert {item["metadata"]["name"].partition(".")[0] for item in events} == {"a"}


async def test_the_scheduler_speaks_the_newer_api_in_series(client, events_once, beside):
    recorder = Recorder(client, Clock(), host="here")
    for _ in range(3):
        recorder.record(RecordEvent(REGARDING, "FailedScheduling", "no room", WARNING), "default-scheduler")
    async with beside(recorder.run()):
        [event] = await events_once(lambda items: items and items[0].get("series"), "/apis/events.k8s.io/v1/events")
    assert event["series"]["count"] == 2
    assert (event["note"], event["action"]) == ("no room", "Scheduling")
    assert (event["reportingController"], event["reportingInstance"]) == ("default-scheduler", "default-scheduler-here")


async def test_a_running_series_is_told_again_and_ended_with_its_last_count(client, events_once, beside, patient):
    recorder = Recorder(client, patient)
    async with beside(recorder.run()):
        for _ in range(5):
            recorder.record(RecordEvent(REGARDING, "FailedScheduling", "no"), "default-scheduler")
        await events_once(lambda items: items and items[0].get("series"))
        await patient.until_someone_sleeps(360)
        for _ in range(2):
            patient.go_on(360)
            await patient.until_someone_sleeps(360)
        [event] = await events_once(lambda items: items[0]["series"]["count"] == 5)
    assert event["reason"] == "FailedScheduling"


async def test_an_event_that_has_expired_meanwhile_is_created_again(client, events_once, beside):
    recorder = Recorder(client, Clock())
    async with beside(recorder.run()):
        recorder.record(RecordEvent(REGARDING, "Same", "it did"), "x")
        [first] = await events_once(lambda items: len(items) == 1)
        name = first["metadata"]["name"]
        await client.perform(Delete(EVENT, f"default/{name}"))
        recorder.record(RecordEvent(REGARDING, "Same", "it did"), "x")
        [again] = await events_once(lambda items: len(items) == 1)
    assert (again["metadata"]["name"], again["count"]) == (name, 2)


async def test_one_refused_event_does_not_hold_up_others(client, events_once, beside, caplog):
    recorder = Recorder(client, Clock())
    gone = REGARDING | {"metadata": REGARDING["metadata"] | {"namespace": "none"}}
    recorder.record(RecordEvent(gone, "Lost", "m"), "x")
    recorder.record(RecordEvent({"metadata": {}}, "Odd", "m"), "x")
    recorder.record(RecordEvent(REGARDING, "Odd", "no text: \ud800"), "x")
    recorder.record(RecordEvent(REGARDING, "Kept", "m"), "x")
    async with beside(recorder.run()):
        events = await events_once(lambda items: any(item["reason"] == "Kept" for item in items))
    assert "Lost" not in {item["reason"] for item in events}
    assert "an event was refused" in caplog.text


class SentRequests(list[Any]):
    """The requests that were sent, and a wait until there are so many."""

    def __init__(self):
        super().__init__()
        self._more = asyncio.Event()

    def add(self, item):
        self.append(item)
        self._more.set()

    async def until(self, count):
        async with asyncio.timeout(SECONDS):
            while len(self) < count:
                self._more.clear()
                await self._more.wait()


@asynccontextmanager
async def a_recorder(serve, clock):
    """A recorder, what it sent, and the codes with which its server answers, 201 after them; 0 for no answer."""
    sent = SentRequests()
    codes: list[int] = []
    requests: list[Any] = []

    async def handle(request):
        body = await request.json()
        requests.append((request.method, request.content_type, body))
        sent.add((request.method, body.get("reason", "")))
        code = codes.pop(0) if codes else 201
        if code == 0:
            request.transport.abort()
        return web.json_response({"kind": "Status", "code": code} if code != 201 else {}, status=code or 500)

    async with Client(await serve(handle), clock) as client:
        recorder: Any = Recorder(client, clock)
        recorder.sent, recorder.codes, recorder.requests = sent, codes, requests
        yield recorder


@pytest.fixture
async def counting(serve, hasty):
    """A recorder on a hasty clock."""
    async with a_recorder(serve, hasty) as recorder:
        yield recorder


@pytest.fixture
async def steady(serve, patient):
    """A recorder on a patient clock."""
    async with a_recorder(serve, patient) as recorder:
        yield recorder


async def test_where_no_answer_comes_an_event_is_sent_again_after_a_while(counting, beside, hasty):
    counting.codes += [0, 0, 201]
    counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    async with beside(counting.run()):
        await counting.sent.until(3)
    pauses = [pause for pause in hasty.slept if pause <= 10]
    assert pauses[0] < 10
    assert pauses[1] == 10


async def test_after_twelve_tries_an_event_is_given_up(counting, beside, caplog):
    counting.codes += [0] * 12
    counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    counting.record(RecordEvent(REGARDING, "B", "m"), "x")
    async with beside(counting.run()):
        await counting.sent.until(13)
    assert counting.sent[-1] == ("POST", "B")
    assert "could not be sent in 12 tries" in caplog.text


async def test_a_source_that_says_too_much_is_cut_short_and_others_are_not(counting, beside, monkeypatch):
    monkeypatch.setattr(event_recorder, "MAX_QUEUED", 3)
    for number in range(5):
        counting.record(RecordEvent(REGARDING, f"R{number}", "m"), "x")
    counting.record(RecordEvent(REGARDING, "Other", "m"), "y")
    async with beside(counting.run()):
        await counting.sent.until(4)
    assert {reason for _, reason in counting.sent} == {"R0", "R1", "R2", "Other"}


async def test_kubelets_and_all_together_keep_to_their_rates(counting, beside, hasty):
    for number in range(110):
        about = REGARDING | {"metadata": REGARDING["metadata"] | {"name": f"p{number}", "uid": str(number)}}
        counting.record(RecordEvent(about, "Started", "m", component="kubelet", host="n1"), "x")
    async with beside(counting.run()):
        await counting.sent.until(110)
    assert sum(1 for pause in hasty.slept if pause == pytest.approx(0.02)) == 10


async def test_the_controllers_requests_come_first_but_not_for_ever(serve, beside, hasty, monkeypatch):
    monkeypatch.setattr(clients, "BUSY_CONNECTIONS", 2)
    sent, gate = SentRequests(), asyncio.Event()

    async def handle(request):
        sent.add((await request.json())["kind"])
        if sent[-1] != "Event":
            await gate.wait()
        return web.json_response({})

    async with Client(await serve(handle), hasty) as client:
        recorder = Recorder(client, hasty)
        controllers = asyncio.ensure_future(client.perform_all([Create(CONFIG_MAP, REGARDING)] * 2))
        await sent.until(2)
        async with beside(recorder.run()):
            recorder.record(RecordEvent(REGARDING, "A", "m"), "x")
            await sent.until(3)
            looks = [pause for pause in hasty.slept if pause == event_recorder.BUSY_CHECK_INTERVAL]
            assert sum(looks) == pytest.approx(0.5)
            gate.set()
            await controllers
            recorder.record(RecordEvent(REGARDING, "B", "m"), "x")
            await sent.until(4)
    assert hasty.slept.count(event_recorder.BUSY_CHECK_INTERVAL) == len(looks)


async def test_names_differ_though_time_stands_still(counting):
    for _ in range(3):
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    [lane] = counting._lanes.values()
    assert len({said.event_name for said in lane.waiting}) == 3


async def test_a_namespace_that_goes_away_is_nothing_to_warn_of(cluster, client, beside, caplog):
    await client.perform(Create(NAMESPACE, {"metadata": {"name": "going"}}))
    kept = {"metadata": {"name": "kept", "namespace": "going", "finalizers": ["example.com/kept"]}}
    await client.perform(Create(CONFIG_MAP, kept))
    await client.perform(Delete(NAMESPACE, "going"))
    codes = SentRequests()
    about = REGARDING | {"metadata": REGARDING["metadata"] | {"namespace": "going"}}
    observe = lambda method, code, seconds: codes.add((method, code))  # noqa: E731, ARG005 - one line says it
    async with Client(load_kubeconfig(cluster.kubeconfig), Clock(), observe=observe) as counted:
        recorder = Recorder(counted, Clock())
        recorder.record(RecordEvent(about, "A", "m"), "x")
        async with beside(recorder.run()):
            await codes.until(1)
    assert codes == [("POST", 403)]
    assert "refused" not in caplog.text


async def test_that_events_are_dropped_is_said_once_until_one_is_taken_again(counting, monkeypatch, caplog):
    monkeypatch.setattr(event_recorder, "MAX_QUEUED", 1)
    caplog.set_level("INFO", logger="controller_manager.events")

    def record(source="x", component=""):
        counting.record(RecordEvent(REGARDING, "A", "m", component=component), source)

    for _ in range(4):
        record()
    assert caplog.messages == ["too many events of x wait: more are dropped"]
    [lane] = counting._lanes.values()
    lane.waiting.clear()
    for _ in range(3):
        record()
    assert caplog.messages == ["too many events of x wait: more are dropped"] * 2
    for _ in range(2):
        record(component="kubelet")
    assert caplog.messages[2:] == ["too many events of kubelet wait: more are dropped"]


async def test_events_are_of_the_clocks_nanosecond_or_the_next_that_is_free(counting, hasty):
    for _ in range(3):
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    hasty.passed += 1.5
    counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    [lane] = counting._lanes.values()
    begin = 1_800_000_000 * 10**9
    assert [said.nanos - begin for said in lane.waiting] == [0, 1, 2, 1_500_000_000]


@pytest.mark.parametrize(("code", "methods"), [(404, ["POST", "PATCH", "POST"]), (409, ["POST", "PATCH", "POST"])])
async def test_an_event_that_changed_is_patched_and_made_where_it_is_gone_alone(counting, beside, code, methods):
    counting.codes += [201, code]
    async with beside(counting.run()):
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
        await counting.sent.until(2)
        counting.record(RecordEvent(REGARDING, "Last", "m"), "x")
        await counting.sent.until(4 if code == 404 else 3)
    assert [method for method, _ in counting.sent][:3] == methods
    assert counting.sent[2][1] == ("A" if code == 404 else "Last")


@pytest.mark.parametrize("code", [403, 404, 409, 500])
async def test_an_event_that_is_refused_is_not_sent_again(counting, beside, hasty, caplog, code):
    counting.codes += [code]
    counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    counting.record(RecordEvent(REGARDING, "B", "m"), "x")
    async with beside(counting.run()):
        await counting.sent.until(2)
    assert [reason for _, reason in counting.sent] == ["A", "B"]
    assert hasty.slept == []
    assert "an event was refused" in caplog.text


async def test_what_was_said_before_and_after_a_run_waits_for_the_next(counting, beside):
    for reason in ("A", "B"):
        counting.record(RecordEvent(REGARDING, reason, "m"), "x")
        async with beside(counting.run()):
            await counting.sent.until("AB".index(reason) + 1)
    assert [reason for _, reason in counting.sent] == ["A", "B"]


def about(number):
    """An object of its own, so that no other's Events are combined with those of it."""
    return REGARDING | {"metadata": REGARDING["metadata"] | {"name": f"p{number}", "uid": str(number)}}


def test_a_thousand_components_a_source_may_wait(counting, caplog):
    caplog.set_level("INFO", logger="controller_manager.events")
    for _ in range(1000):
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    assert caplog.messages == []
    counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    assert caplog.messages == ["too many events of x wait: more are dropped"]


async def test_all_sources_together_send_600_at_once_and_then_300_a_second(counting, beside, hasty):
    for number in range(603):
        counting.record(RecordEvent(about(number), "A", "m"), "xyz"[number % 3])
    async with beside(counting.run()):
        await counting.sent.until(603)
    assert hasty.slept == pytest.approx([1 / 300] * 3)


async def test_a_running_series_is_told_again_after_half_an_hour(steady, beside, patient, caplog):
    def record(times):
        for _ in range(times):
            steady.record(RecordEvent(REGARDING, "FailedScheduling", "no"), "default-scheduler")

    async with beside(steady.run()):
        await patient.until_someone_sleeps(1800)
        record(3)
        await steady.sent.until(2)
        for _ in range(5):
            await patient.until_someone_sleeps(360)
            assert len(steady.sent) == 2, "the Event tells that there is a series; how long it is can wait"
            patient.go_on(180)
            record(1)
            patient.go_on(180)
        await steady.sent.until(3)
    method, _, body = steady.requests[2]
    assert (method, body["series"]["count"]) == ("PATCH", 8)
    assert caplog.messages == []


@pytest.mark.parametrize("source", ["default-scheduler", "x-controller"])
async def test_what_happened_again_is_a_strategic_patch_and_where_it_is_gone_an_event_with_its_count(
    counting, beside, source
):
    counting.codes += [201, 404, 201]
    for _ in range(2):
        counting.record(RecordEvent(REGARDING, "A", "m"), source)
    async with beside(counting.run()):
        await counting.sent.until(3)
    assert [(method, kind) for method, kind, _ in counting.requests] == [
        ("POST", "application/json"),
        ("PATCH", "application/strategic-merge-patch+json"),
        ("POST", "application/json"),
    ]
    first, patch, again = (body for _, _, body in counting.requests)
    counted = patch["series"] if source == "default-scheduler" else patch
    assert counted["count"] == 2
    assert again == first | patch


async def test_an_event_that_somebody_else_made_first_is_nothing_to_warn_of(cluster, beside, hasty, caplog):
    answers = SentRequests()
    observe = lambda method, code, seconds: answers.add((method, code))  # noqa: E731, ARG005 - one line says it
    async with Client(load_kubeconfig(cluster.kubeconfig), Clock(), observe=observe) as client:
        for count in (1, 2):
            recorder = Recorder(client, hasty)  # at the same time, so that both Events have the same name
            recorder.record(RecordEvent(REGARDING, "A", "m"), "x")
            async with beside(recorder.run()):
                await answers.until(count)
    assert answers == [("POST", 201), ("POST", 409)]
    assert "refused" not in caplog.text


async def test_what_a_source_says_of_an_object_above_its_rate_is_left_out_without_a_word(counting, beside, caplog):
    for _ in range(27):
        counting.record(RecordEvent(REGARDING, "A", "m"), "x")
    counting.record(RecordEvent(about(1), "Last", "m"), "x")
    async with beside(counting.run()):
        await counting.sent.until(26)
    assert counting.requests[24][2]["count"] == 25
    assert counting.sent[25] == ("POST", "Last")
    assert caplog.messages == []


class SilentPool:
    """Takes the place of a Pool whose server never answers.

    Attributes:
        messages: what was sent.
    """

    def __init__(self, *_, **__):
        self.messages = []
        self.under_way = 0

    def exchange(self, message, **_):
        self.messages.append(message)
        return asyncio.get_running_loop().create_future()

    def close(self):
        pass


async def test_of_all_sources_four_events_are_under_way_at_a_time_and_one_of_each(beside, hasty, monkeypatch):
    monkeypatch.setattr(clients, "Pool", SilentPool)
    async with Client(ClientConfig("http://h.example"), hasty) as client:
        recorder = Recorder(client, hasty)
        for number in range(12):
            recorder.record(RecordEvent(about(number), "A", "m"), f"source-{number // 2}")
        async with beside(recorder.run()):
            for _ in range(100):
                await asyncio.sleep(0)
        pool: Any = client._connections
        components = [message.partition(b'"component":"')[2].partition(b'"')[0] for message in pool.messages]
    assert components == [b"source-0", b"source-1", b"source-2", b"source-3"]
