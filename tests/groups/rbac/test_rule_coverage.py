"""Which rules cover which, as in the tables of component-helpers' policy_comparator_test.go."""

import pytest

from apiserver.groups.rbac.coverage import compact, uncovered


def rule(verbs, groups="", resources="", names="", urls=""):
    """Return a rule of words; the core group is written `core`."""
    lists = {
        "verbs": verbs,
        "apiGroups": groups,
        "resources": resources,
        "resourceNames": names,
        "nonResourceURLs": urls,
    }
    split = {name: ["" if word == "core" else word for word in text.split()] for name, text in lists.items()}
    return {name: words for name, words in split.items() if words}


@pytest.mark.parametrize(
    ("owned", "asked", "missing"),
    [
        ([rule("get", "core", "pods")], [rule("get", "core", "pods")], []),
        ([rule("*", "core", "pods")], [rule("get list", "core", "pods")], []),
        ([rule("get", "*", "*")], [rule("get", "apps", "deployments/scale")], []),
        ([rule("get", "apps", "*/scale")], [rule("get", "apps", "deployments/scale")], []),
        ([rule("get", "apps", "*/scale")], [rule("get", "apps", "deployments")], [rule("get", "apps", "deployments")]),
        ([rule("get", "core", "pods")], [rule("get", "core", "pods/log")], [rule("get", "core", "pods/log")]),
        ([rule("get", "core", "pods")], [rule("get", "core", "pods", "a")], []),
        ([rule("get", "core", "pods", "a")], [rule("get", "core", "pods")], [rule("get", "core", "pods")]),
        ([rule("get", "core", "pods", "a")], [rule("get", "core", "pods", "a b")], [rule("get", "core", "pods", "b")]),
        (
            [rule("get", "core", "pods"), rule("list", "core", "pods")],  # parts may be covered by different rules
            [rule("get list", "core", "pods")],
            [],
        ),
        ([rule("get", "core", "pods")], [rule("*", "core", "pods")], [rule("*", "core", "pods")]),
        ([rule("get", urls="/healthz/*")], [rule("get", urls="/healthz/ping")], []),
        ([rule("get", urls="*")], [rule("get", urls="/metrics /healthz/*")], []),
        ([rule("get", urls="/healthz")], [rule("get", urls="/healthz/*")], [rule("get", urls="/healthz/*")]),
        ([rule("get", "*", "*")], [rule("get", urls="/")], [rule("get", urls="/")]),
        ([], [], []),
    ],
)
def test_rules_cover_what_is_in_them(owned, asked, missing):
    assert uncovered(asked, owned=owned) == missing


def test_missing_parts_of_one_resource_are_shown_together():
    parts = [
        rule("get", "core", "pods"),
        rule("get", "core", "pods", "a"),
        rule("list", "core", "pods"),
        rule("get", "apps", "pods"),
    ]
    assert compact(parts) == [
        rule("get", "core", "pods", "a"),
        rule("get list", "core", "pods"),
        rule("get", "apps", "pods"),
    ]
