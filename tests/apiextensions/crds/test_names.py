"""Which names a definition gets, and when it is established; the table is that of upstream's naming controller."""

import copy
from typing import Any

import pytest

from apiserver.api.meta import Obj
from apiserver.apiextensions.crds.conditions import find_condition
from apiserver.apiextensions.crds.names import accept_names, definitions_lacking_names, establish

NOW = "2026-01-31T23:59:59Z"
WANTED = ("alfa", "delta-singular", "echo-kind", "foxtrot-listkind", "golf-shortname-1", "hotel-shortname-2")
OTHERS = ("zulu", "yankee-singular", "xray-kind", "whiskey-listkind", "victor-shortname-1", "uniform-shortname-2")
ACCEPTED = ("NamesAccepted", "True", "NoConflicts", "no conflicts found")
INSTALLING = ("Established", "False", "Installing", "the initial names have been accepted")
REFUSED = ("Established", "False", "NotAccepted", "not all names are accepted")


def names(plural: str = "", singular: str = "", kind: str = "", list_kind: str = "", *short: str) -> Obj:
    given = {"plural": plural, "singular": singular, "shortNames": [*short], "kind": kind, "listKind": list_kind}
    return {what: name for what, name in given.items() if name or what in {"plural", "kind"}}


def definition(name: str, *, spec_names: tuple[str, ...] = (), has: tuple[str, ...] = (), conditions: Any = ()) -> Obj:
    plural, _, group = name.partition(".")
    return {
        "metadata": {"name": name},
        "spec": {"group": group, "names": names(*(spec_names or (plural,)))},
        "status": {"acceptedNames": names(*has), "conditions": [*conditions]},
    }


def said(conditions: Any) -> list[tuple[str, ...]]:
    return [(each["type"], each["status"], each["reason"], each["message"]) for each in conditions]


def conflict(reason: str, name: str) -> tuple[str, ...]:
    return ("NamesAccepted", "False", reason, f'"{name}" is already in use')


@pytest.mark.parametrize(
    ("before", "other", "accepted", "verdict"),
    [
        pytest.param((), ("alfa.charlie.com", *WANTED), WANTED, ACCEPTED, id="another group has the names"),
        pytest.param(
            (),
            ("india.bravo.com", "india", "alfa"),
            ("", *WANTED[1:]),
            conflict("PluralConflict", "alfa"),
            id="the plural is a singular",
        ),
        pytest.param(
            (),
            ("india.bravo.com", "india", "indias", "", "", "delta-singular"),
            ("alfa", "", *WANTED[2:]),
            conflict("SingularConflict", "delta-singular"),
            id="the singular is a short name",
        ),
        pytest.param(
            (),
            ("india.bravo.com", "india", "indias", "", "", "hotel-shortname-2"),
            WANTED[:4],
            conflict("ShortNamesConflict", "hotel-shortname-2"),
            id="a short name is one already",
        ),
        pytest.param(
            (),
            ("india.bravo.com", "india", "indias", "", "echo-kind"),
            ("alfa", "delta-singular", "", *WANTED[3:]),
            conflict("KindConflict", "echo-kind"),
            id="the kind is one of lists",
        ),
        pytest.param(
            (),
            ("india.bravo.com", "india", "indias", "foxtrot-listkind"),
            (*WANTED[:3], "", *WANTED[4:]),
            conflict("ListKindConflict", "foxtrot-listkind"),
            id="the kind of lists is a kind",
        ),
        pytest.param((), ("india.bravo.com", "india", "echo-kind"), WANTED, ACCEPTED, id="the kind is a resource"),
        pytest.param(
            OTHERS,
            ("india.bravo.com", "india", "indias", "foxtrot-listkind", "", "delta-singular"),
            ("alfa", "yankee-singular", "echo-kind", "whiskey-listkind", *WANTED[4:]),
            conflict("ListKindConflict", "foxtrot-listkind"),
            id="what is refused keeps its old name and the last refusal is told",
        ),
        pytest.param(
            OTHERS,
            ("india.bravo.com", "india", "indias", "foxtrot-listkind", "", "delta-singular", "golf-shortname-1"),
            ("alfa", "yankee-singular", "echo-kind", "whiskey-listkind", *OTHERS[4:]),
            conflict("ListKindConflict", "foxtrot-listkind"),
            id="short names come all or none",
        ),
    ],
)
def test_names_are_those_that_nobody_of_the_group_has(before, other, accepted, verdict):
    given = definition("alfa.bravo.com", spec_names=WANTED, has=before)
    unspoilt = copy.deepcopy(given)
    named = accept_names(given, [definition(other[0], has=other[1:])], NOW)
    assert named is not None
    assert given == unspoilt
    assert named["status"]["acceptedNames"] == names(*accepted)
    established = INSTALLING if verdict is ACCEPTED else REFUSED
    assert said(named["status"]["conditions"]) == [verdict, established]
    assert {each["lastTransitionTime"] for each in named["status"]["conditions"]} == {NOW}


def test_several_short_names_in_use_are_told_together():
    given = definition("alfa.bravo.com", spec_names=(*WANTED[:4], "g", "free", "h", "g"))
    named = accept_names(given, [definition("india.bravo.com", has=("india", "", "", "", "g", "h"))], NOW)
    assert named is not None
    message = '["g" is already in use, "h" is already in use]'
    condition = find_condition(named, "NamesAccepted")
    assert condition is not None
    assert condition["message"] == message


def test_a_definition_takes_no_name_of_its_own_for_another_purpose():
    has = ("sheep", "sheep", "Sheep", "SheepList")
    given = definition("sheep.bravo.com", spec_names=(*has, "sheep"), has=has)
    named = accept_names(given, [given], NOW)
    assert named is not None
    assert said(named["status"]["conditions"])[0] == conflict("ShortNamesConflict", "sheep")


def test_names_that_are_accepted_are_not_looked_at_again():
    given = definition("alfa.bravo.com", spec_names=WANTED, has=WANTED)
    assert accept_names(given, [definition("india.bravo.com", has=WANTED)], NOW) is None


def test_a_refusal_that_was_told_is_not_told_again():
    given = definition("alfa.bravo.com", spec_names=WANTED)
    other = definition("india.bravo.com", has=("india", "alfa"))
    named = accept_names(given, [other], "2026-01-01T00:00:00Z")
    assert named is not None
    assert accept_names(named, [other], NOW) is None
    freed = accept_names(named, [], NOW)
    assert freed is not None
    assert said(freed["status"]["conditions"]) == [ACCEPTED, INSTALLING]
    established = find_condition(freed, "Established")
    assert established is not None
    assert established["lastTransitionTime"] == "2026-01-01T00:00:00Z"  # it was false before


def test_short_names_can_be_given_up():
    has = WANTED[:4]
    given = definition("alfa.bravo.com", spec_names=(*has, "golf-shortname-1"), has=WANTED)
    named = accept_names(given, [given], NOW)
    assert named is not None
    assert named["status"]["acceptedNames"] == names(*has, "golf-shortname-1")


def test_categories_come_with_the_names():
    given = definition("alfa.bravo.com", spec_names=WANTED)
    given["spec"]["names"]["categories"] = ["all"]
    named = accept_names(given, [], NOW)
    assert named is not None
    assert list(named["status"]["acceptedNames"]) == [
        "plural",
        "singular",
        "shortNames",
        "kind",
        "listKind",
        "categories",
    ]


def test_a_definition_is_established_when_its_names_are_accepted():
    given = definition("alfa.bravo.com", spec_names=WANTED)
    assert establish(given, NOW) is None
    named = accept_names(given, [], NOW)
    assert named is not None
    served = establish(named, NOW)
    assert served is not None
    words = ("Established", "True", "InitialNamesAccepted", "the initial names have been accepted")
    assert said(served["status"]["conditions"]) == [ACCEPTED, words]
    assert establish(served, NOW) is None


def test_a_definition_stays_established_when_later_names_are_refused():
    served = establish(accept_names(definition("alfa.bravo.com", spec_names=WANTED), [], NOW) or {}, NOW)
    assert served is not None
    served["spec"]["names"]["shortNames"] = ["taken"]
    named = accept_names(served, [definition("india.bravo.com", has=("india", "taken"))], NOW)
    assert named is not None
    assert [each["status"] for each in named["status"]["conditions"]] == ["False", "True"]


def test_a_definition_whose_webhook_cannot_be_known_is_not_established():
    given = accept_names(definition("alfa.bravo.com", spec_names=WANTED), [], NOW)
    assert given is not None
    given["spec"]["conversion"] = {"webhook": {"clientConfig": {"caBundle": "AAAA"}}}
    refused = establish(given, NOW)
    assert refused is not None
    words = ("Established", "False", "InvalidCABundle", "The conversion webhook CABundle is invalid")
    assert said(refused["status"]["conditions"])[1] == words
    assert establish(refused, NOW) is None


def test_who_frees_names_has_its_group_looked_at_again():
    there = [definition(name) for name in ("alfa.bravo.com", "india.bravo.com", "alfa.charlie.com")]
    assert definitions_lacking_names("alfa.bravo.com", there) == ["india.bravo.com"]
    assert definitions_lacking_names("gone.bravo.com", there) == ["alfa.bravo.com", "india.bravo.com"]


def test_who_has_all_the_names_it_wants_needs_no_second_look():
    there = [definition("alfa.bravo.com", has=("alfa",)), definition("india.bravo.com")]
    there[0]["spec"]["names"] = dict(there[0]["status"]["acceptedNames"])
    assert definitions_lacking_names("gone.bravo.com", there) == ["india.bravo.com"]
