import pytest


@pytest.mark.parametrize(
    "text",
    [
        "'hello'.contains('ell') && 'hello'.startsWith('he') && 'hello'.endsWith('lo') && !'hello'.contains('x')",
        "size('héllo') == 5 && 'héllo'.size() == 5 && size(b'h\\xc3') == 2",
        "'hello'.charAt(1) == 'e' && 'hello'.charAt(5) == ''",
        "'hello mellow'.indexOf('ello') == 1 && 'hello mellow'.indexOf('ello', 2) == 7 && 'abc'.indexOf('x') == -1",
        "'hello mellow'.lastIndexOf('ello') == 7 && 'hello mellow'.lastIndexOf('ello', 6) == 1",
        "'abc'.indexOf('') == 0 && 'abc'.lastIndexOf('') == 3",
        "'hello hello'.replace('he', 'we') == 'wello wello' && 'hello hello'.replace('he', 'we', 1) == 'wello hello'",
        "'hello'.replace('l', '', 0) == 'hello' && 'ab'.replace('', '-') == '-a-b-'",
        "'a,b,c'.split(',') == ['a', 'b', 'c'] && 'a,b,c'.split(',', 2) == ['a', 'b,c']",
        "'a,b'.split(',', 0) == [] && 'a,b'.split(',', -1) == ['a', 'b'] && 'ab'.split('') == ['a', 'b']",
        "'tacocat'.substring(4) == 'cat' && 'tacocat'.substring(0, 4) == 'taco' && 'tacocat'.substring(7) == ''",
        "' \\t trim\\n '.trim() == 'trim' && '\\u2003a\\u0085'.trim() == 'a'",
        "'TacÉ'.lowerAscii() == 'tacÉ' && 'tacé'.upperAscii() == 'TACé'",
        "['a', 'b'].join() == 'ab' && ['a', 'b'].join('-') == 'a-b' && [].join(',') == ''",
        'strings.quote(\'first\\nsecond "x"\') == \'"first\\\\nsecond \\\\"x\\\\""\'',
    ],
)
def test_texts_are_taken_apart_and_put_together(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("'abc'.charAt(4) == ''", "index out of range: 4"),
        ("'abc'.charAt(-1) == ''", "index out of range: -1"),
        ("'abc'.indexOf('a', -1) == 0", "index out of range: -1"),
        ("'abc'.substring(4) == ''", "index out of range: 4"),
        ("'abc'.substring(2, 1) == ''", "invalid substring range. start: 2, end: 1"),
    ],
)
def test_places_that_a_text_does_not_have_are_told(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    "text",
    [
        "'hello'.matches('^h.*o$') && 'hello'.matches('ell') && !'hello'.matches('^ell') && matches('a1', '[0-9]')",
        "'zoë'.matches('^zo.$') && 'x\\ny'.matches('(?s)x.y') && !'x\\ny'.matches('x.y')",
        "'abc 123 def 456'.find('[0-9]+') == '123' && 'abc'.find('[0-9]+') == ''",
        "'abc 123 def 456'.findAll('[0-9]+') == ['123', '456'] && 'a1b2c3'.findAll('[0-9]', 2) == ['1', '2']",
        "'abc'.findAll('[0-9]') == [] && 'a1'.findAll('[0-9]', 0) == []",
        "'key=value'.find('(?:key|name)=([a-z]+)') == 'key=value'",
        "'[x]'.find('[\\\\[(]x[)\\\\]]') == '[x]' && 'a(b'.find('\\\\Q(b\\\\E') == '(b'",
    ],
)
def test_patterns_are_those_of_re2(value, text):
    assert value(text) is True


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("'a'.matches(['('][0])", "error parsing regexp: missing closing ): `(`"),
        ("'a'.find(['[a'][0]) == ''", "Illegal regex: error parsing regexp: missing closing ]: `[a`"),
        (
            "'a'.findAll(['*'][0]) == []",
            "Illegal regex: error parsing regexp: missing argument to repetition operator: `*`",
        ),
    ],
)
def test_an_invalid_pattern_is_reported_in_the_words_of_go(value, text, error):
    assert value(text) == f"error: {error}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'%s is %s'.format(['a', true])", "a is true"),
        ("'%s %s %s'.format([1, 2u, 1.5])", "1 2 1.5"),
        ("'%s'.format([b'ab'])", "ab"),
        ("'%s'.format([null])", "null"),
        ("'%s'.format([['a', 1.5, true]])", '["a", 1.500000, true]'),
        ("'%s'.format([{'b': 1, 'a': duration('90s')}])", '{"a":duration("90s"), "b":1}'),
        ("'%s'.format([timestamp('2023-02-03T23:31:20Z')])", "2023-02-03T23:31:20Z"),
        ("'%s'.format([type('')])", "string"),
        ("'%d%%'.format([50])", "50%"),
        ("'%.2f'.format([2.71828])", "2.72"),
        ("'%f'.format([1.0])", "1.000000"),
        ("'%b %b'.format([5, true])", "101 1"),
        ("'%x %X'.format([255, 'hi'])", "ff 6869"),
        ("'%o'.format([8])", "10"),
        ("'%.1e'.format([1234.5])", "1.2\u00d710⁰³"),
    ],
)
def test_values_are_put_into_a_text(value, text, message):
    assert value(text) == message


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("['%s %s'][0].format(['a']) == ''", "index 1 out of range"),
        (
            "['%d'][0].format(['a']) == ''",
            "error during formatting: decimal clause can only be used on integers, was given string",
        ),
        ("['%z'][0].format(['a']) == ''", 'could not parse formatting clause: unrecognized formatting clause "z"'),
        ("['%'][0].format(['a']) == ''", "unexpected end of string"),
    ],
)
def test_a_text_that_values_do_not_fit_into_is_told(value, text, error):
    assert value(text) == f"error: {error}"
