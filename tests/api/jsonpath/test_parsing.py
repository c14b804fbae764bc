"""Parsing JSONPath templates: the nodes of valid templates, and the errors of invalid ones."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.api.jsonpath import JSONPath, JSONPathError, WalkError
from apiserver.api.jsonpath.ast import (
    Field,
    Filter,
    Identifier,
    Index,
    Literal,
    Part,
    Recursive,
    Slice,
    Text,
    Union,
    Wildcard,
)
from apiserver.api.jsonpath.parsing import parse

IMAGE = (Field("image"),)
ALL = Slice(None, None, None)


@pytest.mark.parametrize(
    ("template", "parts"),
    [
        ("", []),
        ("hello jsonpath", [Text("hello jsonpath")]),
        ("hello {.jsonpath} you", [Text("hello "), (Field("jsonpath"),), Text(" you")]),
        ("{.a}{.b}", [(Field("a"),), (Field("b"),)]),
        ("{.a}}", [(Field("a"),), Text("}")]),
        ("{}", [()]),
        ("{@}", [()]),
        ("{$.a @.b}", [(Field("a"), Field("b"))]),
        ("{.}", [(Field(""),)]),
        ("{['jsonpath']}", [(Field("jsonpath"),)]),
        ("{['book.price']}", [(Field("book"), Field("price"))]),
        (r"{.labels.kubernetes\.io/host}", [(Field("labels"), Field("kubernetes.io/host"))]),
        (r"{.labels['kubernetes\.io/host']}", [(Field("labels"), Field("kubernetes.io/host"))]),
        ('{"{"}', [(Text("{"),)]),
        ("{[1:3]}", [(Slice(1, 3, None),)]),
        ("{[:3]}", [(Slice(None, 3, None),)]),
        ("{[-5:]}", [(Slice(-5, None, None),)]),
        ("{[1:-1]}", [(Slice(1, -1, None),)]),
        ("{[::2]}", [(Slice(None, None, 2),)]),
        ("{[-1]}", [(Index(-1),)]),
        ("{[]}", [(Index(0),)]),
        ("{.book[*].author}", [(Field("book"), ALL, Field("author"))]),
        ("{.bicycle.*}", [(Field("bicycle"), Wildcard())]),
        (r"{.\*}", [(Field("*"),)]),
        ("{..}", [(Recursive(),)]),
        ("{..price}", [(Recursive(), Field("price"))]),
        ("{...price}", [(Recursive(), Field("price"))]),
        ("{..[0]}", [(Recursive(), Index(0))]),
        (
            "{['bicycle.price', 3, *]}",
            [(Union(((Field("bicycle"), Field("price")), (Index(3),), (ALL,))),)],
        ),
        ("{range .items}{.name},{end}", [
            (Identifier("range"), Field("items")), (Field("name"),), Text(","), (Identifier("end"),)
        ]),
        ("{true false +1 -1.5}", [(Literal(True), Literal(False), Literal(1), Literal(-1.5))]),
        ("{99999999999999999999}", [(Literal(1e20),)]),
        ("{[?(@.price<3)]}", [(Filter((Field("price"),), "<", (Literal(3),)),)]),
        ("{[?(@.isbn)]}", [(Filter((Field("isbn"),), "exists", ()),)]),
        ("{[?( @.image == 'Linux' )]}", [(Filter(IMAGE, "==", (Text("Linux"),)),)]),
        ('{[?(@.image=="()")]}', [(Filter(IMAGE, "==", (Text("()"),)),)]),
        (r'{[?(@.image=="(\"\")")]}', [(Filter(IMAGE, "==", (Text('("")'),)),)]),
        ('{[?(@.image=="())(")]}', [(Filter(IMAGE, "==", (Text("())("),)),)]),
        ('{[?(@.image=="{[()]}")]}', [(Filter(IMAGE, "==", (Text("{[()]}"),)),)]),
        ("""{[?(@.image=="''")]}""", [(Filter(IMAGE, "==", (Text("''"),)),)]),
        (r"""{[?(@.image=='\\\'')]}""", [(Filter(IMAGE, "==", (Text("\\'"),)),)]),
        ("{[?(@.image=<>1)]}", [(Filter(IMAGE, "=<>", (Literal(1),)),)]),
    ],
)  # fmt: skip
def test_a_template_consists_of_text_and_actions(template: str, parts: list[Part]):
    assert list(parse(template)) == parts


@pytest.mark.parametrize(
    ("quoted", "text"),
    [
        (r'"\\a\tb\n"', "\\a\tb\n"),
        (r'"\x41\101B\U0001F600"', "AAB\U0001f600"),
        (r'"\xe2\x82\xac"', "€"),
        (r'"\xff"', "\ufffd"),
        (r"'it\'s'", "it's"),
        ("'\"'", '"'),
    ],
)
def test_strings_have_the_escapes_of_go(quoted: str, text: str):
    assert parse(f"{{{quoted}}}") == ((Text(text),),)


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{.hello", "unclosed action"),
        ("{.hello\n}", "unclosed action"),
        ("{{.hello}}", "unrecognized character in action: U+007B '{'"),
        ("{*}", "unrecognized character in action: U+002A '*'"),
        ("{..*}", "unrecognized character in action: U+002A '*'"),
        ("{.a,.b}", "unrecognized character in action: U+002C ','"),
        ("{\t.a}", "unrecognized character in action: U+0009"),
        ("{+12.3.0}", "cannot parse number +12.3.0"),
        ("{-}", "cannot parse number -"),
        ("{[1}", "unterminated array"),
        ("{['a\n']}", "unterminated array"),
        ("{[a]}", "invalid array index a"),
        ('{["a"]}', 'invalid array index "a"'),
        ("{['a,b']}", "invalid array index 'a"),
        ("{[1:2:3:4]}", "invalid array index 1:2:3:4"),
        ("{[-]}", "array index - is not a number"),
        ("{[99999999999999999999]}", "array index 99999999999999999999 is not a number"),
        ("{[?(.price]}", "unterminated filter"),
        ('{[?(@.a==")]}', "unterminated filter"),
        ("{[?(@.a)}", "unclosed array expect ]"),
        ("{[?(@.a) ]}", "unclosed array expect ]"),
        ("{[?(*)]}", "unrecognized character in action: U+002A '*'"),
        ("{[?(1==*)]}", "unrecognized character in action: U+002A '*'"),
        ('{"a', "unterminated quoted string"),
        ('{"a\n"}', "unterminated quoted string"),
        (r'{"a\\"}', "unterminated quoted string"),  # a quote behind a backslash closes nothing, whatever is before it
        (r'{"a\q"}', r'unquote string "a\q" error invalid syntax'),
        (r'{"\x4"}', r'unquote string "\x4" error invalid syntax'),
        (r'{"\777"}', r'unquote string "\777" error invalid syntax'),
        (r'{"\ud800"}', r'unquote string "\ud800" error invalid syntax'),
        (r"""{'a\"b'}""", r"""unquote string 'a\"b' error invalid syntax"""),
        ("{........}", "invalid multiple recursive descent"),
    ],
)
def test_what_is_no_template_is_refused_in_upstreams_words(template: str, why: str):
    with pytest.raises(JSONPathError) as refused:
        parse(template)
    assert str(refused.value) == why


SIGNS = st.lists(
    st.sampled_from([*"{}[].,?()@$'\"\\*:<=>!+-1a_ \t\n", "[?(", "..", "==", ")]", "{.a", "'b'", "é", "range"]),
    max_size=25,
).map("".join)


@given(SIGNS)
def test_any_text_is_a_template_or_is_refused(text: str):
    obj = {"a": {"b": [1, {"a": "x"}, None]}, "b": "y"}
    with suppress(JSONPathError, WalkError):
        assert JSONPath(text).find(obj) is not None
    assert obj == {"a": {"b": [1, {"a": "x"}, None]}, "b": "y"}
