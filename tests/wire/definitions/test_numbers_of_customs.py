"""Numbers and texts of custom objects come back as Go writes them, whichever way they came."""

import pytest

HERE = "/apis/example.com/v1/namespaces/default/widgets"
ONE = f"{HERE}/a"
FREE = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
TEMPLATE = '{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"%s},"spec":{"v":%s}}'


@pytest.fixture
async def free(api, customs):
    """A kind whose objects may have anything in their specs."""
    schema = {"type": "object", "properties": {"spec": FREE, "status": FREE}}
    await customs.define(version={"schema": {"openAPIV3Schema": schema}, "subresources": {"status": {}}})
    return api


def widget(value, meta=""):
    return (TEMPLATE % (meta, value)).encode()


NUMBERS = [
    ("1.0", "1"),
    ("1e3", "1000"),
    ("-0.0", "-0"),
    ("1.5", "1.5"),
    ("0.000001", "0.000001"),
    ("1e-7", "1e-7"),
    ("100000000000000000000", "100000000000000000000"),
    ("1e21", "1e+21"),
    ("9223372036854775807", "9223372036854775807"),
    ("9223372036854775808", "9223372036854776000"),
    ("18446744073709551615", "18446744073709552000"),
    ("9007199254740993.0", "9007199254740992"),
    ('"1.0"', '"1.0"'),
]


@pytest.mark.parametrize(("given", "written"), NUMBERS)
async def test_a_number_is_written_as_go_writes_it(free, given, written):
    made = await free.post(HERE, widget(given))
    assert made.code == 201
    assert f'"spec":{{"v":{written}}}' in made.text
    assert f'"spec":{{"v":{written}}}' in (await free.get(HERE)).text
    patched = await free.patch(ONE, {"metadata": {"labels": {"x": "y"}}})
    assert f'"spec":{{"v":{written.removeprefix("-") if written == "-0" else written}}}' in patched.text


@pytest.mark.parametrize(("given", "written"), NUMBERS[:-1])
async def test_a_number_of_a_patch_is_written_as_go_writes_it(free, given, written):
    await free.post(HERE, widget(7))
    merged = await free.patch(ONE, b'{"spec": {"v": {"w": [%s]}}}' % given.encode())
    assert f'"spec":{{"v":{{"w":[{written}]}}}}' in merged.text
    operation = b'[{"op": "add", "path": "/status", "value": {"v": %s}}]' % given.encode()
    added = await free.patch(f"{ONE}/status", operation, "json-patch")
    assert f'"status":{{"v":{written}}}' in added.text


async def test_a_number_that_no_float_holds_is_refused(free):
    refused = await free.post(HERE, widget("1e400"))
    why = "json: cannot unmarshal number 1e400 into Go value of type float64"
    assert (refused.code, refused.json["message"]) == (
        400,
        f'Widget in version "v1" cannot be handled as a Widget: {why}',
    )


@pytest.mark.parametrize(("generation", "code"), [("5.0", 201), ("1e1", 201), ("5.5", 400), ("1e400", 400)])
async def test_whole_numbers_of_metadata_may_be_written_as_floats(free, generation, code):
    reply = await free.post(HERE, widget(1, f',"generation":{generation}'))
    assert reply.code == code
    if code == 400:
        assert f"cannot unmarshal number {generation} into Go" in reply.json["message"]


async def test_a_whole_float_is_no_change_of_an_integer(free):
    made = await free.post(HERE, widget("5"))
    assert (await free.patch(ONE, b'{"spec": {"v": 5.0}}')).version == made.version


async def test_a_lone_surrogate_is_the_replacement_character(free):
    made = await free.post(HERE, widget(rb'["\ud800", "\ud83d\ude00"]'.decode()))
    assert made.json["spec"]["v"] == ["\ufffd", "\U0001f600"]


async def test_a_dry_run_keeps_the_version_that_it_was_given(free):
    named = await free.post(f"{HERE}?dryRun=All", widget(1, ',"resourceVersion":"5"'))
    assert (named.code, named.json["metadata"]["resourceVersion"]) == (201, "5")
    refused = await free.post(HERE, widget(1, ',"resourceVersion":"5"'))
    assert (refused.code, refused.json["message"]) == (
        500,
        "resourceVersion should not be set on objects to be created",
    )


async def test_a_name_is_quoted_as_go_quotes_it(free):
    refused = await free.post(HERE, {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a\n\x01"}})
    assert refused.json["message"].startswith(
        r'Widget.example.com "a\n\x01" is invalid: metadata.name: Invalid value: "a\n\x01": '
    )
