import gc
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from patience import some_work

from apiserver.api.golang.regexp import _TOKEN, compile_regexp, large_program

SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("^[a-z]+$", "abc", "abc\n"),
        ("b", "abc", "ac"),
        ("", "", None),
        (r"^\d+$", "12", "١٢"),
        (r"^\w+$", "a_1", "é"),
        (r"^\s$", "\t", "\v"),
        (r"^\S$", "é", " "),
        (r"^a\z", "a", "a\n"),
        (r"\bé", "xé", "é"),  # a border of ASCII words alone
        ("(?i)^abc$", "ABC", "AB"),
        ("(?i:a)b", "Ab", "AB"),
        ("a(?i)b|c", "C", "A"),
        ("(a(?i)b)c", "aBc", "aBC"),
        ("(?m)^b$", "a\nb\nc", "a b"),
        ("^.$", "é", "\n"),
        ("(?s)^.$", "\n", "ab"),
        ("^a{2,3}$", "aaa", "aaaa"),
        ("^a{2}$", "aa", "aaa"),
        ("^a{2,}$", "aaaa", "a"),
        ("^a{,2}$", "a{,2}", "aa"),
        ("^a{01}$", "a{01}", "a"),
        (r"^\.\-\_\{$", ".-_{", "a-_{"),
        (r"^\x41\x{1F600}\101\n$", "A\U0001f600A\n", "AAA"),
        (r"^\Qa.b\E+$", "a.bb", "a.ba.b"),  # what is repeated is the last character
        ("^(?P<n>a)(?<m>b)(?:c)$", "abc", "ab"),
        ("^[]a]+$", "]a", "b"),
        ("^[^]a]$", "b", "]"),
        ("^[a-c-]+$", "a-c", "d"),
        ("^[a-]+$", "-", "b"),
        (r"^[\d\-x]+$", "1-x", "y"),
        ("^[[:alpha:]_]+$", "aZ_", "1"),
        ("^[[:^digit:]]+$", "ab", "a1"),
        (r"^[^\D5]$", "4", "5"),
        ("^[&&~~||]+$", "&~|", "a"),
        ("^[[a]$", "[", "b"),
        (r"^\p{Lu}\pL\P{N}$", "Aéx", "aéx"),
        (r"^\p{Greek}\p{^Greek}\P{^Greek}$", "βaδ", "aaa"),
        (r"^\p{Han}$", "漢", "a"),
        (r"^[\p{L}\p{S}.]+$", "é€.", "-"),
        ("(?U)^a+$", "aa", "b"),
        ("^(a*)*$", "aaa", "b"),
        ("^*a", "a", "b"),
        ("(|a)b", "b", "a"),
        ("^[^a]*$", "b" * 70_000, "a"),
        (SUBDOMAIN, "a.b", "a..b"),
        (SUBDOMAIN, "a" * 30 + ".b", "a" * 30 + "..b"),
        (r"^(é+)+\.$", "é" * 5 + ".", "é"),
        ("^(a+)+$", "a", "\ud800"),
        (r"^\Qa\C\E\\C[\\C]$", r"a\C\CC", "a"),
        (r"^(?:\pL{25}){10}$", "é" * 250, "é" * 249),
        ("^((a|(b)))[(](?:(?:c))$", "b(c", "c"),
        (r"\B", "", None),
    ],
)
def test_a_pattern_matches_what_it_matches_in_go(pattern, matching, other):
    compiled = compile_regexp(pattern)
    assert compiled.matches(matching)
    assert other is None or not compiled.matches(other)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("+", "missing argument to repetition operator: `+`"),
        ("a|*?b", "missing argument to repetition operator: `*?`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("a*?+", "invalid nested repetition operator: `*?+`"),
        ("a{1001}", "invalid repeat count: `{1001}`"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("((a{100}){100}){100}", "invalid repeat count: `{100}`"),
        ("a(?=b)", "invalid or unsupported Perl syntax: `(?=`"),
        ("(?!a)", "invalid or unsupported Perl syntax: `(?!`"),
        ("(?i)(?z)", "invalid or unsupported Perl syntax: `(?z`"),
        ("(?<=a)b", "invalid named capture: `(?<=a)b`"),
        ("(?P<>a)", "invalid named capture: `(?P<>`"),
        ("(?P<a b>a)", "invalid named capture: `(?P<a b>`"),
        ("(a", "missing closing ): `(a`"),
        ("a)b", "unexpected ): `a)b`"),
        ("x[a", "missing closing ]: `[a`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        ("[[:word", "missing closing ]: `[[:word`"),
        ("[[:foo:]]", "invalid character class range: `[:foo:]`"),
        (r"\p{Nothing}", r"invalid character class range: `\p{Nothing}`"),
        (r"\p{L", r"invalid character class range: `\p{L`"),
        (r"(a)\1", r"invalid escape sequence: `\1`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        (r"\Z", r"invalid escape sequence: `\Z`"),
        (r"\xg1", r"invalid escape sequence: `\xg1`"),
        (r"\x{110000}", r"invalid escape sequence: `\x{110000`"),
        (r"\x{}", r"invalid escape sequence: `\x{}`"),
        (r"\x1", r"invalid escape sequence: `\x1`"),
        (r"\C", r"invalid escape sequence: `\C`"),
        (r"(\C\Z", r"invalid escape sequence: `\C`"),
        (r"a\\\Ca", r"invalid escape sequence: `\C`"),
        ("a{1001}?", "invalid repeat count: `{1001}`"),
        ("a{1001,}", "invalid repeat count: `{1001,}`"),
        ("a{1,1001}", "invalid repeat count: `{1,1001}`"),
        ("a*{3,1}?", "invalid repeat count: `{3,1}`"),
        ("a{123456789}", "invalid repeat count: `{123456789}`"),
        ("a{1,123456789}", "invalid repeat count: `{1,123456789}`"),
        ("(a{1000}){1000}?", "invalid repeat count: `{1000}?`"),
        ("a{1,3}{2}", "invalid nested repetition operator: `{1,3}{2}`"),
        ("[{1001}", "missing closing ]: `[{1001}`"),
        (r"\Q\E*", "missing argument to repetition operator: `*`"),
        ("(?i", "invalid or unsupported Perl syntax: `(?i`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("x(?<=a>b)", "invalid named capture: `(?<=a>`"),
        ("(?<!a)", "invalid named capture: `(?<!a)`"),
        ("(?P<a>b)(?P<é>a)", "invalid named capture: `(?P<é>`"),
        ("(?<é>a)", "invalid named capture: `(?<é>`"),
        (r"\pé", r"invalid character class range: `\pé`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern, message):
    with pytest.raises(ValueError, match="error parsing regexp") as caught:
        compile_regexp(pattern)
    assert str(caught.value) == f"error parsing regexp: {message}"


@pytest.mark.parametrize("depth", [1001, 100_000])
def test_a_pattern_that_nests_too_deeply_is_refused(depth):
    with pytest.raises(ValueError, match="expression nests too deeply"):
        compile_regexp("(" * depth + ")" * depth)
    compile_regexp("(" * 1000 + ")" * 1000 + "()" + "[(]" * 1000)


@pytest.mark.parametrize("pattern", [r"\pL" * 600_000, "(ab?){0,1000}" * 200_000, r"(\pL{500}\PN{500})" * 500])
def test_a_pattern_that_expands_to_too_much_is_refused_in_time(pattern):
    with some_work(), pytest.raises(ValueError, match="error parsing regexp: expression too large: ") as caught:
        compile_regexp(pattern)
    assert str(caught.value).endswith(f"{pattern}`")


@pytest.mark.parametrize("end", ["", "\\", "x"])
def test_a_class_that_is_not_closed_is_read_once(end):
    pattern = r"\C" + "[:" * 8000 + end
    assert _TOKEN.findall(pattern) == [r"\C", pattern[2:]]
    with pytest.raises(ValueError, match=r"invalid escape sequence: `\\C`"):
        compile_regexp(pattern)


@pytest.mark.parametrize("pattern", [r"[^\pL]{1000}", r"\pL{1000}", r"(?:[\pL\pN]{10}x){100}"])
def test_large_classes_may_not_be_repeated_too_often(pattern):
    with pytest.raises(ValueError, match="error parsing regexp: expression too large: "):
        compile_regexp(pattern)


@pytest.mark.parametrize(
    "pattern", [r"^[\pL{1000}]$", r"\Q[\pL]{1000}\E", r"\[\pL]{1000}", r"\\pL{1000}", r"^\pL{1,500}$"]
)
def test_what_is_no_repeated_class_is_not_counted_as_one(pattern):
    compile_regexp(pattern)


def test_few_large_programs_stay_in_memory():
    patterns = [compile_regexp(rf"^\pL{{{count}}}$") for count in range(100, 120)]
    assert max(pattern.size for pattern in patterns) > 100_000
    programs = [item for item in gc.get_objects() if type(item).__module__ == "re2" and hasattr(item, "programsize")]
    assert sum(program.programsize > 100_000 for program in programs) == 16
    misses = large_program.cache_info().misses
    assert all(regexp.matches("é" * count) for count, regexp in enumerate(patterns, 100))
    assert large_program.cache_info().misses == misses + len(patterns)
    assert patterns[-1].matches("é" * 119)
    assert large_program.cache_info().misses == misses + len(patterns)


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


@pytest.mark.parametrize(("pattern", "text", "matches"), NASTY, ids=[pattern[:40] for pattern, _, _ in NASTY])
def test_no_pattern_takes_for_ever(pattern, text, matches):
    compiled = compile_regexp(pattern)
    with some_work():
        assert compiled.matches(text) is matches


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("a*", "baaac", ["", "aaa", ""]),
        ("a*", "éaé", ["", "a", ""]),
        ("a|b", "abc", ["a", "b"]),
        ("^a", "aa", ["a"]),
        ("(é)(b)?", "éb-é", ["éb", "é"]),
        ("x", "abc", []),
    ],
)
def test_matches_are_those_of_go(pattern, text, matches):
    compiled = compile_regexp(pattern)
    assert list(compiled.find_all(text)) == matches
    assert compiled.find(text) == (matches or [""])[0]


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
def test_what_both_languages_have_matches_as_in_python(pattern, text):
    of_python = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
    assert compile_regexp(pattern).matches(text) is (of_python.search(text) is not None), (pattern, text)
