"""Reading page by page, seen in the requests to a cluster: the first key, the number of keys, the revision."""

from base64 import b64decode, b64encode
from typing import Any, cast

import pytest

from etcd.access import KeyPrefix
from etcd.cluster import Cluster
from etcd.range_reader import MAX_PAGE_BYTES, RangeReader, range_responses
from etcd.store import Compacted, KeyValue, Unreachable


def encoded(key: bytes) -> str:
    return b64encode(key).decode()


class Keys:
    """The part of a cluster that is read; each answer is of a newer revision than the one before."""

    def __init__(self) -> None:
        self.values: dict[bytes, str] = {}
        self.requests: list[dict[str, Any]] = []
        self.errors: list[Exception | None] = []
        self.revision = 50

    @property
    def limits(self) -> list[int]:
        return [each["limit"] for each in self.requests]

    async def read(self, method: str, request: dict[str, Any]) -> dict[str, Any]:
        assert method == "/kv/range"
        self.requests.append(request)
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error
        begin, end = b64decode(request["key"]), b64decode(request["range_end"])
        inside = [key for key in sorted(self.values) if key >= begin and (end == b"\0" or key < end)]
        kept = inside[: request["limit"]]
        self.revision += 1
        answer: dict[str, Any] = {"header": {"revision": str(self.revision)}}
        if kept:
            answer["kvs"] = [{"key": encoded(key), "value": self.values[key]} for key in kept]
            answer["count"] = str(len(inside))
        return answer | ({"more": True} if len(kept) < len(inside) else {})


@pytest.fixture
def cluster() -> Keys:
    return Keys()


@pytest.fixture
def pages(cluster: Keys) -> RangeReader:
    key_prefix = KeyPrefix("/registry/", "/here/")
    return RangeReader(
        cast("Cluster", cluster), key_prefix, lambda key, body: KeyValue(key, b64decode(body["value"]), 1, 1, None)
    )


def fill(cluster: Keys, number: int, value: str = "") -> None:
    cluster.values |= {b"/here/%05d" % each: value for each in range(number)}


async def all_of(cluster: Keys, **options: int) -> list[str]:
    responses = [
        answer
        async for answer in range_responses(cast("Cluster", cluster), encoded(b"/here/"), encoded(b"/here0"), **options)
    ]
    return [b64decode(kv["key"]).decode() for answer in responses for kv in answer.get("kvs", ())]


async def test_pages_of_small_values_grow_fourfold_to_a_bound(cluster):
    fill(cluster, 6100)
    assert await all_of(cluster) == [f"/here/{each:05}" for each in range(6100)]
    assert cluster.limits == [100, 400, 1600, 2000, 2000]


async def test_a_page_begins_right_after_the_last_key_of_the_one_before(cluster):
    cluster.values = {b"/here/%03d" % each: "" for each in range(100)} | {b"/here/099\0": "", b"/here/099\0\0": ""}
    assert (await all_of(cluster))[-3:] == ["/here/099", "/here/099\0", "/here/099\0\0"]
    assert [b64decode(each["key"]) for each in cluster.requests] == [b"/here/", b"/here/099\0"]


async def test_all_pages_are_of_the_revision_of_the_first(cluster):
    fill(cluster, 700)
    await all_of(cluster)
    assert [each.get("revision") for each in cluster.requests] == [None, "51", "51"]


async def test_all_pages_are_of_the_snapshot_that_is_named(cluster):
    fill(cluster, 700)
    await all_of(cluster, revision=7)
    assert [each.get("revision") for each in cluster.requests] == ["7", "7", "7"]


@pytest.mark.parametrize(
    ("limit", "limits"),
    [(1, [1]), (99, [99]), (100, [100]), (101, [100, 1]), (700, [100, 400, 200]), (0, [100, 400, 1600])],
)
async def test_no_more_keys_are_asked_for_than_the_limit(cluster, limit, limits):
    fill(cluster, 1000)
    assert len(await all_of(cluster, limit=limit)) == (limit or 1000)
    assert cluster.limits == limits


@pytest.mark.parametrize(("fit", "size"), [(400, 400), (300, 300), (50, 50), (10, 10), (1, 10)])
async def test_a_page_has_as_many_keys_as_fit_if_all_are_like_the_largest_before(cluster, fit, size):
    fill(cluster, 101)
    cluster.values[b"/here/00042"] = "A" * (MAX_PAGE_BYTES // fit - 1)
    await all_of(cluster)
    assert cluster.limits == [100, size]


async def test_pages_that_do_not_come_get_smaller_to_a_bound_and_do_not_grow_beyond_what_came(cluster):
    fill(cluster, 300)
    cluster.errors = [Unreachable("late"), None, None, Unreachable("late")]
    assert len(await all_of(cluster)) == 300
    assert cluster.limits[:5] == [100, 25, 25, 25, 10]
    assert set(cluster.limits[5:]) == {10}


async def test_where_the_smallest_page_does_not_come_that_is_told(cluster):
    cluster.errors = [Unreachable("late")] * 3 + [AssertionError("nothing more is asked")]
    with pytest.raises(Unreachable, match="late"):
        await all_of(cluster)
    assert cluster.limits == [100, 25, 10]


async def test_others_have_their_turn_between_two_pages_without_a_pause(cluster, monkeypatch):
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr("etcd.range_reader.asyncio.sleep", sleep)
    fill(cluster, 700)
    await all_of(cluster)
    assert pauses == [0, 0]


async def test_the_state_is_of_the_keys_of_the_place_and_of_the_revision_of_the_first_page(cluster, pages):
    fill(cluster, 150)
    cluster.values |= {b"/her": "", b"/here0": "", b"/here/\xff": ""}
    state, revision = await pages.read_state()
    assert list(state) == [f"/registry/{each:05}" for each in range(150)]
    assert all(kv.key == key for key, kv in state.items())
    assert revision == 51


async def test_the_state_is_read_from_its_beginning_where_the_snapshot_is_compacted(cluster, pages, caplog):
    fill(cluster, 150)
    cluster.errors = [None, Compacted(60)]
    state, revision = await pages.read_state()
    assert (len(state), revision) == (150, 52)
    assert [each.get("revision") for each in cluster.requests] == [None, "51", None, "52"]
    assert [each.getMessage() for each in caplog.records] == ["etcd was compacted while it was read: it is read again"]


async def test_the_state_without_a_place_is_of_all_keys(cluster):
    cluster.values = {b"a": "", b"\xfe": "", b"zz": ""}
    state, _ = await RangeReader(cluster, KeyPrefix(), lambda key, _: KeyValue(key, b"", 1, 1, None)).read_state()
    assert list(state) == ["a", "zz"]


@pytest.mark.parametrize(
    ("limit", "number", "remaining"),
    [(0, 150, 0), (1, 1, 149), (120, 120, 30), (149, 149, 1), (150, 150, 0), (151, 150, 0)],
)
async def test_a_page_of_a_snapshot_says_how_many_keys_remain(cluster, pages, limit, number, remaining):
    fill(cluster, 150)
    page = await pages.read_range("/registry/", "", limit, 9)
    assert [kv.key for kv in page.items] == [f"/registry/{each:05}" for each in range(number)]
    assert (page.more, page.remaining, page.revision) == (remaining > 0, remaining, 9)
    assert {each["revision"] for each in cluster.requests} == {"9"}


async def test_a_page_of_a_snapshot_begins_at_the_later_of_prefix_and_start(cluster, pages):
    fill(cluster, 30)
    assert [kv.key[-2:] for kv in (await pages.read_range("/registry/0001", "/registry/00017", 0, 9)).items] == [
        "17",
        "18",
        "19",
    ]
    assert len((await pages.read_range("/registry/0001", "", 0, 9)).items) == 10
    empty = await pages.read_range("/registry/0009", "", 0, 9)
    assert (list(empty.items), empty.more, empty.remaining) == ([], False, 0)
