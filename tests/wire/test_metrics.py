"""Issue and wire.md: metrics with upstream's names and labels, and values that move."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
PLACE = {"group": "", "version": "v1", "resource": "configmaps", "subresource": ""}


async def samples(api, name: str, **labels: str) -> dict[tuple[str, ...], float]:
    """The samples of a name that have these labels, by the values of their other labels."""
    by_labels = {}
    for family in text_string_to_metric_families((await api.get("/metrics")).text):
        for sample in family.samples:
            if sample.name == name and labels.items() <= sample.labels.items():
                by_labels[tuple(v for k, v in sorted(sample.labels.items()) if k not in labels)] = sample.value
    return by_labels


async def test_requests_are_counted_by_what_they_were(api) -> None:
    path = f"{CONFIG_MAPS}/a"
    await api.make("a")
    await api.post(CONFIG_MAPS, {"metadata": {"name": "a"}})
    await api.post(f"{CONFIG_MAPS}?dryRun=All", {"metadata": {"name": "b"}})
    await api.get(path)
    await api.get(f"{CONFIG_MAPS}/none")
    await api.get(CONFIG_MAPS)
    await api.get("/api/v1/configmaps")
    await api.put(path, {"metadata": {"name": "a"}, "data": {"x": "y"}})
    await api.patch(path, {"data": {"x": "z"}})
    await api.delete(path)
    await api.delete(CONFIG_MAPS)
    async with api.watch(f"{CONFIG_MAPS}?watch=1&timeoutSeconds=1") as watched:
        await watched.rest()
    counts = await samples(api, "apiserver_request_total", component="apiserver", **PLACE)
    # by code, dry_run, scope and verb
    assert counts == {
        ("201", "", "resource", "POST"): 1,
        ("409", "", "resource", "POST"): 1,
        ("201", "All", "resource", "POST"): 1,
        ("200", "", "resource", "GET"): 1,
        ("404", "", "resource", "GET"): 1,
        ("200", "", "namespace", "LIST"): 1,
        ("200", "", "cluster", "LIST"): 1,
        ("200", "", "resource", "PUT"): 1,
        ("200", "", "resource", "PATCH"): 1,
        ("200", "", "resource", "DELETE"): 1,
        ("200", "", "namespace", "DELETECOLLECTION"): 1,
        ("200", "", "namespace", "WATCH"): 1,
    }


async def test_durations_are_a_histogram_of_the_same_requests(api) -> None:
    await api.make("a", "b")
    labels = PLACE | {"verb": "POST", "scope": "resource", "dry_run": "", "component": "apiserver"}
    assert list((await samples(api, "apiserver_request_duration_seconds_count", **labels)).values()) == [2]
    buckets = await samples(api, "apiserver_request_duration_seconds_bucket", **labels)
    assert buckets["+Inf",] == 2
    assert {key for (key,) in buckets} >= {"0.005", "0.05", "1", "60"}
    (total,) = (await samples(api, "apiserver_request_duration_seconds_sum", **labels)).values()
    assert 0 < total < 10


async def test_clients_cannot_make_up_labels(api) -> None:
    for number in range(3):
        await api.post(f"{CONFIG_MAPS}?dryRun=x{number}", {"metadata": {"name": "a"}})
        await api.get(f"/nowhere/{number}")
        await api.ask("TRACE", CONFIG_MAPS)
    counts = await samples(api, "apiserver_request_total", component="apiserver", code="422")
    assert list(counts.values()) == [3]
    refused = await samples(api, "apiserver_request_total", code="405")
    assert {labels[-2] for labels in refused} == {"other"}


@pytest.mark.parametrize(
    ("query", "label"), [("dryRun=All&dryRun=All", "All"), ("dryRun=All&dryRun=x", "invalid"), ("dryRun=", "invalid")]
)
async def test_a_dry_run_is_counted_as_one_however_often_it_is_asked_for(api, query: str, label: str) -> None:
    await api.post(f"{CONFIG_MAPS}?{query}", {"metadata": {"name": "a"}})
    counts = await samples(api, "apiserver_request_total", **PLACE, verb="POST", dry_run=label)
    assert list(counts.values()) == [1]


async def test_watches_under_way_and_their_events(api) -> None:
    labels = PLACE | {"verb": "WATCH", "scope": "namespace", "component": "apiserver"}
    async with api.watch(f"{CONFIG_MAPS}?watch=1") as watched:
        await api.make("a", "b", "c")
        await watched.take(3)
        assert await samples(api, "apiserver_longrunning_requests", **labels) == {(): 1}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert await samples(api, "apiserver_watch_events_total", **resource) == {(): 3}
    while (await samples(api, "apiserver_longrunning_requests", **labels))[()]:
        pass


async def test_stored_objects_are_counted_by_resource(api) -> None:
    own = len((await api.get("/api/v1/configmaps")).json["items"])  # the server keeps data of its own in some
    await api.make("a", "b")
    assert await samples(api, "apiserver_storage_objects", resource="configmaps") == {(): own + 2}
    assert await samples(api, "apiserver_resource_objects", resource="configmaps", group="") == {(): own + 2}
    assert await samples(api, "apiserver_resource_objects", resource="deployments", group="apps") == {(): 0}
    assert await samples(api, "apiserver_storage_objects", resource="deployments.apps") == {(): 0}
    await api.delete(f"{CONFIG_MAPS}/a")
    assert await samples(api, "apiserver_storage_objects", resource="configmaps") == {(): own + 1}


@pytest.mark.parametrize(
    "name",
    ["process_resident_memory_bytes", "process_cpu_seconds_total", "process_open_fds", "process_start_time_seconds"],
)
async def test_the_process_is_measured(api, name: str) -> None:
    (value,) = (await samples(api, name)).values()
    assert value > 0


async def test_requests_in_flight_are_told_by_kind(api) -> None:
    assert await samples(api, "apiserver_current_inflight_requests") == {("readOnly",): 0, ("mutating",): 0}


async def test_it_is_text_for_prometheus(api) -> None:
    reply = await api.get("/metrics")
    assert reply.headers["Content-Type"].startswith("text/plain; version=0.0.4")
