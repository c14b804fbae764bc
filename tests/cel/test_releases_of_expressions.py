"""The CEL environment by release: new rules may use what the previous release knew, stored rules all that there is."""

import pytest

from apiserver.apiextensions.rules import PreexistingExpressions

VALUE = {
    "type": "object",
    "properties": {
        "s": {"type": "string", "maxLength": 9},
        "l": {"type": "array", "maxItems": 9, "items": {"type": "integer"}},
        "n": {"type": "number"},
        "namespace": {"type": "string", "maxLength": 9},
        "a__b": {"type": "string", "maxLength": 9},
    },
}


@pytest.fixture
def errors_of(refused):
    """Return a function that lists the errors of a rule that is new to a release, without the quoted source."""

    def wrong(rule, release, **options):
        rules = {"x-kubernetes-validations": [rule if isinstance(rule, dict) else {"rule": rule}]}
        schema = {"type": "object", "properties": {"v": VALUE | rules}}
        parts = [
            part for error in refused(schema, release=release, **options) for part in error.split("ERROR: <input>:")
        ]
        return [part.partition("\n")[0].strip() for part in parts[1:]]

    return wrong


@pytest.mark.parametrize(
    ("rule", "since"),
    [
        ("self.s.split(',').size() > 0 && self.s.trim() == ''", 25),
        ("self.l.isSorted() && self.l.sum() > 0 && self.l.indexOf(1) == 0", 25),
        ("self.s.find('a') == '' && url('http://a').getHost() == 'a'", 25),
        ("self.?s.orValue('') == ''", 29),
        ("self.l[?0].hasValue()", 29),
        ("[?optional.of(1)].size() == 1", 29),
        ("{?'a': optional.of(1)}.size() == 1", 29),
        ("optional.of(1).optMap(x, x + 1).hasValue()", 29),
        ("self.n > 1", 29),
        ("quantity('1').isGreaterThan(quantity('0'))", 29),
        ("'%d'.format([1]) == '1'", 30),
        ("sets.contains([1], [1])", 30),
        ("cidr('10.0.0.0/8').containsIP(ip('10.0.0.1')) && string(ip('::1')) == '::1'", 31),
        ("!format.uuid().validate(self.s).hasValue()", 32),
        ("self.namespace == ''", 32),
        ("self.l.all(i, v, v > i)", 33),
        ("self.l.transformList(i, v, v + i).size() > 0", 33),
        ("semver('1.2.3').major() == 1 && semver('1.2.3').compareTo(semver('1.2.4')) < 0", 34),
        ("self.l.sort() == lists.range(3)", 35),
        ("self.l.sortBy(x, -x).size() > 0", 35),
    ],
)
def test_a_new_rule_may_use_what_the_release_before_knew(errors_of, rule, since):
    assert errors_of(rule, since) == errors_of(rule, 0) == []
    if since > 25:
        assert errors_of(rule, since - 1) != []
        assert errors_of(rule, since - 1, preexisting=PreexistingExpressions(frozenset((rule,)))) == []


@pytest.mark.parametrize(
    ("rule", "errors"),
    [
        ("self.?s.orValue('') == ''", ["1:5: unsupported syntax '.?'"]),
        ("self.l[?0] == 1", ["1:7: unsupported syntax '[?'"]),
        ("[?self.l].size() == 1", ["1:2: unsupported syntax '?'"]),
        ("1 < 2.0", ["1:3: found no matching overload for '_<_' applied to '(int, double)'"]),
        ("semver('1.2.3').major() == 1", ["undeclared reference to 'semver'", "undeclared reference to 'major'"]),
        ("self.namespace == ''", ["undefined field 'namespace'"]),
    ],
)
def test_what_a_release_does_not_know_is_told_in_its_words(errors_of, rule, errors):
    reported = errors_of(rule, 27)
    assert len(reported) == len(errors)
    assert all(error in each for error, each in zip(errors, reported, strict=True))


def test_literals_are_looked_at_since_the_release_that_knows_how(errors_of):
    assert errors_of("timestamp('x') != timestamp('y') || self.s == ''", 30) == [
        "1:11: invalid timestamp argument",
        "1:29: invalid timestamp argument",
    ]
    assert errors_of("self.s.matches('[') || true", 30) == ["1:16: invalid matches argument"]
    assert errors_of("self.s.matches('[') || true", 29) == []
    assert errors_of("[1, 'a'].size() == 2", 25) == ["1:5: expected type 'int' but found 'string'"]


def test_messages_are_told_apart_from_rules(errors_of):
    text = "'%d'.format([1])"
    rule = {"rule": "self.s == 'a'", "messageExpression": text}
    assert errors_of(rule, 29) == ["1:12: undeclared reference to 'format' (in container '')"]
    assert errors_of(rule, 29, preexisting=PreexistingExpressions(frozenset((text,)))) != []
    assert errors_of(rule, 29, preexisting=PreexistingExpressions(messages=frozenset((text,)))) == []


def test_a_field_is_called_as_it_is_escaped_unless_it_is_a_keyword(errors_of):
    assert errors_of("self.a__underscores__b == '' && self.namespace == self.__namespace__", 0) == []
    assert errors_of("self.a__b == ''", 0) == ["1:5: undefined field 'a__b'"]
