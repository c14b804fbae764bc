import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import some_work

from apiserver.api.golang.regexp import compile_regexp
from apiserver.cel.patterns import matcher

SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
NASTY = [
    ("^(a+)+$", "a" * 40 + "!", False),
    ("(x+x+)+y", "x" * 40, False),
    ("^(.*,)*$", "a," * 30 + "a", False),
    ("^(a|aa)+$", "a" * 60 + "!", False),
    ("^(a?){40}a{40}$", "a" * 40, True),
    ("^" + "a?" * 40 + "a" * 40 + "$", "a" * 40, True),
    ("^(a{1,20}){1,20}$", "a" * 399 + "!", False),
    ("[a-z]+1", "a" * 200_000, False),
    ("a.*b.*c.*d.*e.*f$", "abcde" * 2000, False),
    (SUBDOMAIN, "a-" * 100_000, False),
    (SUBDOMAIN, "a.b-c." * 30_000 + "d", True),
]


@pytest.mark.parametrize(("pattern", "text", "found"), NASTY, ids=[pattern[:40] for pattern, _, _ in NASTY])
def test_no_pattern_takes_for_ever(pattern, text, found):
    matches = matcher(pattern)
    with some_work():
        assert matches(text) is found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("", "", True),
        ("b", "abc", True),
        ("^b", "abc", False),
        ("^[a-z]+$", "abc", True),
        ("^[a-z]+$", "abc\n", False),
        ("(?i)^ABC$", "abc", True),
        ("(?m)^b$", "a\nb\nc", True),
        ("^.$", "\n", False),
        (r"^\d+$", "\u0661", False),
        ("^[^a]*$", "b" * 70_000, True),
        (SUBDOMAIN, "a.b", True),
        (SUBDOMAIN, "a" * 30 + ".b", True),
        (SUBDOMAIN, "a" * 30 + "..b", False),
        (r"^(é+)+\.$", "é" * 5 + ".", True),
        ("^(a+)+$", "\ud800", False),
    ],
)
def test_long_and_short_texts_are_matched_as_go_matches_them(pattern, text, found):
    assert matcher(pattern)(text) is found


def test_what_is_no_pattern_is_told_in_the_words_of_go():
    with pytest.raises(ValueError, match="missing closing"):
        matcher("(")


ATOMS = st.sampled_from(("a", "b", "[ab]", "[^a]", ".", r"\.", "-", "(?:a|b)", "(a|ab)", "^", "$", r"\b", ""))
PATTERNS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map("".join),
        st.tuples(inner, st.sampled_from(("*", "+", "?", "{2}", "{1,3}", "*?"))).map(
            lambda both: f"({both[0]}){both[1]}"
        ),
        st.tuples(inner, inner).map(lambda both: f"({both[0]}|{both[1]})"),
    ),
    max_leaves=8,
)


@settings(max_examples=400, deadline=None)
@given(pattern=PATTERNS, text=st.text("ab.-\n", max_size=12))
def test_both_matchers_say_the_same(pattern, text):
    try:
        compiled = compile_regexp(pattern)
    except ValueError:
        return
    assert matcher(pattern)(text) is (compiled.search(text) is not None), (pattern, text)
