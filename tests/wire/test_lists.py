"""wire.md, section 3: reads of one object and of many, over HTTP."""

import asyncio
import base64
import json
from typing import Any
from urllib.parse import quote

import pytest

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def names(reply: Any) -> list[str]:
    return [item["metadata"]["name"] for item in reply.json["items"]]


async def pages(api, query: str = "") -> list[Any]:
    """All pages of a list, each asked for with the token of the one before."""
    replies = [await api.get(f"{CONFIG_MAPS}?limit=2{query}")]
    while token := replies[-1].json["metadata"].get("continue"):
        replies.append(await api.get(f"{CONFIG_MAPS}?limit=2{query}&continue={token}"))
    return replies


# Items.


async def test_a_list_names_its_kind_and_its_items_do_not(api) -> None:
    await api.make("a")
    reply = await api.get(CONFIG_MAPS)
    assert (reply.json["kind"], reply.json["apiVersion"]) == ("ConfigMapList", "v1")
    assert reply.version == str(api.now)
    assert reply.json["items"][0].keys() == {"metadata"}


async def test_lists_are_in_the_order_of_their_keys(api) -> None:
    """As etcd's bytes have it: by namespace, then by name, where "a-b" comes before "a.b" and "ab"."""
    await api.post("/api/v1/namespaces", {"metadata": {"name": "default-2"}})
    await api.make("z", path="/api/v1/namespaces/default-2/configmaps")
    await api.make("ab", "a.b", "a-b", "b", "a", "a10", "a2")
    reply = await api.get(f"/api/v1/configmaps?fieldSelector={quote('metadata.namespace!=kube-system')}")
    places = [(item["metadata"]["namespace"], item["metadata"]["name"]) for item in reply.json["items"]]
    keys = [key for key in places if key[0].startswith("default")]
    # "default-2/" comes before "default/", since "-" does before "/"
    assert keys == [
        ("default-2", "z"),
        *(("default", name) for name in ("a", "a-b", "a.b", "a10", "a2", "ab", "b")),
    ]


async def test_an_empty_list_has_items_all_the_same(api) -> None:
    assert (await api.get(CONFIG_MAPS)).json["items"] == []


async def test_a_namespace_that_is_not_there_lists_as_empty(api) -> None:
    reply = await api.get("/api/v1/namespaces/nowhere/configmaps")
    assert (reply.code, reply.json["items"]) == (200, [])


# Pages.


async def test_pages_are_of_one_snapshot_while_others_write(api) -> None:
    await api.make("a", "c", "e", "g")
    first = await api.get(f"{CONFIG_MAPS}?limit=2")
    meta = first.json["metadata"]
    assert (names(first), meta["remainingItemCount"]) == (["a", "c"], 2)
    await api.make("b", "d", "f")
    await api.delete(f"{CONFIG_MAPS}/e")
    await api.patch(f"{CONFIG_MAPS}/g", {"data": {"new": "yes"}})
    second = await api.get(f"{CONFIG_MAPS}?limit=2&continue={meta['continue']}")
    assert names(second) == ["e", "g"]
    assert "data" not in second.json["items"][1]
    assert second.json["metadata"] == {"resourceVersion": first.version}


async def test_an_exact_last_page_has_no_token(api) -> None:
    await api.make("a", "b", "c", "d")
    first, second = await pages(api)
    assert (names(first), names(second)) == (["a", "b"], ["c", "d"])
    assert second.json["metadata"].keys() == {"resourceVersion"}


async def test_pages_of_a_selection_do_not_say_how_many_remain(api) -> None:
    for name in "abcde":
        labels = {"odd": "yes"} if name in "ace" else {}
        await api.post(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
    first, second = await pages(api, "&labelSelector=odd")
    assert (names(first), names(second)) == (["a", "c"], ["e"])
    assert first.json["metadata"].keys() == {"resourceVersion", "continue"}


async def test_all_pages_together_are_the_list(api) -> None:
    await api.make(*(f"n{number}" for number in range(9)))
    replies = await pages(api)
    assert [name for page in replies for name in names(page)] == names(await api.get(CONFIG_MAPS))
    assert [page.json["metadata"].get("remainingItemCount") for page in replies] == [7, 5, 3, 1, None]


async def test_a_token_that_has_expired_is_410_with_one_to_go_on(api) -> None:
    await api.make("a", "b", "c", "d")
    token = (await api.get(f"{CONFIG_MAPS}?limit=2")).json["metadata"]["continue"]
    await api.delete(f"{CONFIG_MAPS}/c")
    await api.make("e")
    store = api.running.registry.storage.store
    await store.compact(store.revision)
    reply = await api.get(f"{CONFIG_MAPS}?limit=2&continue={token}")
    assert (reply.code, reply.json["reason"]) == (410, "Expired")
    assert reply.message == (
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list."
    )
    onward = reply.json["metadata"]["continue"]
    assert names(await api.get(f"{CONFIG_MAPS}?limit=5&continue={onward}")) == ["d", "e"]


def token(**fields: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (
            token(v="meta.k8s.io/v1", rv=0, start="a"),
            "incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (token(v="meta.k8s.io/v1", rv=5, start=""), "encoded start key empty (version meta.k8s.io/v1)"),
        (token(v="meta.k8s.io/v2", rv=5, start="a"), "server does not recognize this encoded version meta.k8s.io/v2"),
        (token(v="meta.k8s.io/v1", rv=5, start="../a"), "../a"),
        (token(v="meta.k8s.io/v1", rv=5, start="a/./b"), "a/./b"),
        (token(v="meta.k8s.io/v1", rv=5, start="a//b"), "a//b"),
        (token(v="meta.k8s.io/v1", rv=5, start="//a"), "//a"),
    ],
)
async def test_a_token_that_is_not_ours_is_400(api, given: str, why: str) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?limit=2&continue={given}")
    assert reply.code == 400
    assert reply.message == f"invalid continue token: continue key is not valid: {why}"


@pytest.mark.parametrize("given", ["x", "!!!", token(), "bnVsbA", "W10", token(v=1, rv="a", start=[])])
async def test_a_token_that_is_garbage_is_400(api, given: str) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?limit=2&continue={quote(given)}")
    assert reply.code == 400
    assert "continue key is not valid" in reply.message


async def test_a_token_with_a_version_is_400(api) -> None:
    await api.make("a", "b", "c")
    first = await api.get(f"{CONFIG_MAPS}?limit=2")
    onward = first.json["metadata"]["continue"]
    reply = await api.get(f"{CONFIG_MAPS}?limit=2&continue={onward}&resourceVersion={first.version}")
    assert (reply.code, reply.message) == (
        400,
        "specifying resource version is not allowed when using continue",
    )
    assert (await api.get(f"{CONFIG_MAPS}?limit=2&continue={onward}&resourceVersion=0")).code == 200


@pytest.mark.parametrize("limit", ["x", "1.5", "99999999999999999999"])
async def test_a_limit_that_is_no_number_is_400(api, limit: str) -> None:
    assert (await api.get(f"{CONFIG_MAPS}?limit={limit}")).code == 400


# Versions.


async def test_what_a_version_means(api) -> None:
    first, second = await api.make("a", "b")
    past = f"{CONFIG_MAPS}?resourceVersion={first.version}"
    assert names(await api.get(f"{CONFIG_MAPS}?resourceVersion=0")) == ["a", "b"]
    assert names(await api.get(past)) == ["a", "b"]
    assert names(await api.get(f"{past}&resourceVersionMatch=NotOlderThan")) == ["a", "b"]
    exact = await api.get(f"{past}&resourceVersionMatch=Exact")
    assert (names(exact), exact.version) == (["a"], first.version)
    # with a limit and no match a version is exact, as it was before there was a match
    limited = await api.get(f"{past}&limit=5")
    assert (names(limited), limited.version) == (["a"], first.version)
    newer = await api.get(f"{past}&limit=5&resourceVersionMatch=NotOlderThan")
    assert (names(newer), newer.version) == (["a", "b"], second.version)


@pytest.mark.parametrize("match", ["", "&resourceVersionMatch=NotOlderThan"])
async def test_any_version_will_do_means_no_pages_either(api, match: str) -> None:
    await api.make("a", "b", "c")
    reply = await api.get(f"{CONFIG_MAPS}?resourceVersion=0&limit=1{match}")
    assert names(reply) == ["a", "b", "c"]
    assert reply.json["metadata"].keys() == {"resourceVersion"}


async def test_exact_pages_go_on_at_their_version(api) -> None:
    made = await api.make("a", "b", "c", "d")
    past = f"limit=2&resourceVersion={made[2].version}&resourceVersionMatch=Exact"
    first = await api.get(f"{CONFIG_MAPS}?{past}")
    second = await api.get(f"{CONFIG_MAPS}?limit=2&continue={first.json['metadata']['continue']}")
    assert (names(first), names(second)) == (["a", "b"], ["c"])
    assert first.json["metadata"]["remainingItemCount"] == 1


async def test_an_exact_version_that_is_compacted_is_410(api) -> None:
    made = await api.make("a", "b", "c")
    await api.running.registry.storage.store.compact(int(made[2].version))
    reply = await api.get(f"{CONFIG_MAPS}?resourceVersion={made[0].version}&resourceVersionMatch=Exact")
    assert (reply.code, reply.json["reason"]) == (410, "Expired")
    assert reply.message == "The resourceVersion for the provided list is too old."
    newer = await api.get(f"{CONFIG_MAPS}?resourceVersion={made[0].version}&resourceVersionMatch=NotOlderThan")
    assert names(newer) == ["a", "b", "c"]


@pytest.mark.looptime
@pytest.mark.parametrize("path", [CONFIG_MAPS, f"{CONFIG_MAPS}/a"])
@pytest.mark.parametrize("match", ["", "&resourceVersionMatch=NotOlderThan", "&resourceVersionMatch=Exact"])
async def test_a_version_that_does_not_come_is_504(api, path: str, match: str) -> None:
    await api.make("a")
    reply = await api.get(f"{path}?resourceVersion=99999{match}")
    assert (reply.code, reply.json["reason"]) == (504, "Timeout")
    assert reply.message == f"Timeout: Too large resource version: 99999, current: {api.now}"
    assert reply.json["details"]["causes"] == [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    assert reply.json["details"]["retryAfterSeconds"] == 1
    assert reply.headers["Retry-After"] == "1"


async def test_a_version_that_is_about_to_come_is_waited_for(api, eventually) -> None:
    (made,) = await api.make("a")
    path = f"{CONFIG_MAPS}?resourceVersion={int(made.version) + 1}"

    async def is_waiting() -> bool:
        return bool(await api.metrics("apiserver_current_inflight_requests", "readOnly") == 1)

    async with asyncio.TaskGroup() as group:
        reading = group.create_task(api.get(path))
        await eventually(is_waiting)
        await api.make("b")
    assert names(reading.result()) == ["a", "b"]


FORBIDDEN = "Forbidden: resourceVersionMatch"


@pytest.mark.parametrize(
    ("query", "wrong"),
    [
        ("resourceVersionMatch=Exact", f"{FORBIDDEN} is forbidden unless resourceVersion is provided"),
        ("resourceVersionMatch=Exact&resourceVersion=0", f'{FORBIDDEN} "exact" is forbidden for resourceVersion "0"'),
        (
            "resourceVersionMatch=Other&resourceVersion=1",
            'Unsupported value: "Other": supported values: "Exact", "NotOlderThan", ""',
        ),
        (
            "resourceVersionMatch=Exact&resourceVersion=1&continue=x",
            f"{FORBIDDEN} is forbidden when continue is provided",
        ),
    ],
)
async def test_pairs_that_mean_nothing_are_422(api, query: str, wrong: str) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?{query}")
    assert (reply.code, reply.json["reason"]) == (422, "Invalid")
    assert reply.message == f'ListOptions.meta.k8s.io "" is invalid: resourceVersionMatch: {wrong}'


@pytest.mark.parametrize("version", ["x", "-1", "1.5"])
async def test_an_invalid_version_is_400(api, version: str) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?resourceVersion={version}")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")
    assert "resourceVersion: Invalid value" in reply.message


# Selectors.


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        ("x=1", "a"),
        ("x==1", "a"),
        ("x!=1", "bcd"),
        ("x in (1,2)", "ab"),
        ("x notin (1)", "bcd"),
        ("x", "abc"),
        ("!x", "d"),
        ("x,y", "b"),
        ("x>1", "bc"),
        ("x<2", "a"),
        ("x=", "c0"[:0]),
        ("", "abcd"),
    ],
)
async def test_label_selectors(api, selector: str, expected: str) -> None:
    for name, labels in {"a": {"x": "1"}, "b": {"x": "2", "y": "1"}, "c": {"x": "3"}, "d": {}}.items():
        await api.post(CONFIG_MAPS, {"metadata": {"name": name, "labels": labels}})
    assert names(await api.get(f"{CONFIG_MAPS}?labelSelector={quote(selector)}")) == list(expected)


@pytest.mark.parametrize("selector", ["x in", "x in (", "=", "x=a b", "a/b/c=1", "x=" + "v" * 64, ",", "x>a"])
async def test_a_label_selector_that_cannot_be_read_is_400(api, selector: str) -> None:
    reply = await api.get(f"{CONFIG_MAPS}?labelSelector={quote(selector)}")
    assert (reply.code, reply.json["reason"]) == (400, "BadRequest")


@pytest.mark.parametrize(
    ("path", "selector", "words"),
    [
        ("/api/v1/pods", "spec.image=a", "field label not supported: spec.image"),
        (
            "/api/v1/configmaps",
            "data.a=b",
            '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("/api/v1/pods", "status.phase", "invalid selector: 'status.phase'; can't understand 'status.phase'"),
    ],
)
async def test_a_field_selector_that_is_not_known_is_400(api, path: str, selector: str, words: str) -> None:
    reply = await api.get(f"{path}?fieldSelector={quote(selector)}")
    assert reply.code == 400
    assert words in reply.message


# One object.


async def test_what_is_not_there_is_404_with_its_details(api) -> None:
    reply = await api.get("/apis/apps/v1/namespaces/default/deployments/web")
    assert reply.code == 404
    assert reply.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": 'deployments.apps "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
        "code": 404,
    }
