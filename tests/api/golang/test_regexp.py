import pytest

from apiserver.api.golang.regexp import compile_regexp


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
        (r"^\Qa.b\E+$", "a.ba.b", "aab"),
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
    ],
)
def test_a_pattern_matches_what_it_matches_in_go(pattern, matching, other):
    compiled = compile_regexp(pattern)
    assert compiled.search(matching)
    assert other is None or not compiled.search(other)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("+", "missing argument to repetition operator: `+`"),
        ("a|*?b", "missing argument to repetition operator: `*?`"),
        ("(?i)*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid repeat operator: `**`"),
        ("a*?+", "invalid repeat operator: `*?+`"),
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
        (r"\x{110000}", r"invalid escape sequence: `\x{110000}`"),
        ("a\\", "trailing backslash at end of expression: ``"),
    ],
)
def test_what_go_refuses_is_refused_in_its_words(pattern, message):
    with pytest.raises(ValueError, match="error parsing regexp") as caught:
        compile_regexp(pattern)
    assert str(caught.value) == f"error parsing regexp: {message}"


def test_a_pattern_that_nests_too_deeply_is_refused():
    with pytest.raises(ValueError, match="expression nests too deeply"):
        compile_regexp("(" * 2000 + ")" * 2000)
