"""Policies with their bindings: each is compiled when it is first bound, and again only when it has changed."""

import pytest

from apiserver.admission.policy.source import PolicySource

POLICIES, BINDINGS = "policies/", "bindings/"


@pytest.fixture
def compiled():
    """The specs that have been compiled, in their order."""
    return []


@pytest.fixture
def source(store, compiled):
    return PolicySource(store, (f"/registry/{POLICIES}", f"/registry/{BINDINGS}"), compiled.append)


def bound(source):
    return {policy.name: [binding.name for binding in policy.bindings] for policy in source.get()}


async def test_policies_come_with_their_bindings_by_name(source, put):
    assert bound(source) == {}
    for name in ("q", "p", "unbound"):
        await put(f"{POLICIES}{name}", {"spec": {}})
    for name, policy in (("b", "p"), ("a", "p"), ("c", "q"), ("d", "absent")):
        await put(f"{BINDINGS}{name}", {"spec": {"policyName": policy}})
    assert bound(source) == {"p": ["a", "b"], "q": ["c"]}
    assert list(bound(source)) == ["p", "q"]


async def test_a_policy_is_compiled_once_per_change(source, store, put, compiled):
    await put(f"{POLICIES}p", {"spec": {"failurePolicy": "Fail"}})
    assert bound(source) == {}
    assert compiled == []
    await put(f"{BINDINGS}a", {"spec": {"policyName": "p"}})
    assert bound(source) == bound(source) == {"p": ["a"]}
    await put(f"{BINDINGS}b", {"spec": {"policyName": "p"}})
    await put(f"{POLICIES}other", {"spec": {}})
    assert bound(source) == {"p": ["a", "b"]}
    assert compiled == [{"failurePolicy": "Fail"}]
    await put(f"{POLICIES}p", {"spec": {"failurePolicy": "Ignore"}})
    assert [policy.fails_open for policy in source.get()] == [True]
    assert compiled == [{"failurePolicy": "Fail"}, {"failurePolicy": "Ignore"}]
    for name in "ab":
        await store.delete(f"/registry/{BINDINGS}{name}")
    assert bound(source) == {}
