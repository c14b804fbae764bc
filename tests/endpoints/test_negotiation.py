"""Which clause of an Accept header comes first, and what it asks for."""

import pytest

from apiserver.api.errors import ApiError
from apiserver.endpoints.negotiation import clauses, error_media, negotiate, negotiate_routed

TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"


@pytest.mark.parametrize(
    ("accept", "order"),
    [
        ("a/b, c/d", "a/b c/d"),
        ("a/b;q=0.1, c/d", "c/d a/b"),
        ("a/b;q=0, c/d;q=0.5", "c/d a/b"),
        ("*/*, a/b", "a/b */*"),
        ("a/*, a/b", "a/b a/*"),
        ("*/*, a/b;q=0.1", "a/b */*"),
        ("*/*;q=0.1, a/*;q=0.2, a/b;q=0.3", "a/b a/* */*"),
        ("a/b;q=x, c/d;q=0.1", "c/d a/b"),
        ("*", "*/*"),
        ("nonsense, a/b/c, , a/b", "a/b"),
        ("nonsense", ""),
    ],
)
def test_specific_clauses_go_first_and_then_those_of_quality(accept, order):
    assert " ".join(clause.media for clause in clauses(accept)) == order


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("application/yaml;q=0.5, application/json;q=0.4", "application/yaml"),
        ("application/json;sv=v1", "application/json"),
        ("application/json;sv=v2, application/yaml", "application/yaml"),
        ("application/vnd.kubernetes.protobuf, application/*", "application/json"),
        (f"{TABLE}9, application/yaml", "application/yaml"),
    ],
)
def test_the_first_clause_that_can_be_met_is(accept, media):
    assert negotiate(accept).media == media


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        ("", "application/json"),
        ("application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf"),
        ("application/vnd.kubernetes.protobuf;q=0.1, application/yaml", "application/yaml"),
        (f"{TABLE}, application/yaml", "application/yaml"),
        (TABLE, ""),
        ("text/html", ""),
    ],
)
def test_an_error_takes_no_other_shape(accept, media):
    assert error_media(accept) == media


def test_a_route_knows_no_wildcard_of_subtypes():
    assert negotiate("application/*").media == "application/json"
    with pytest.raises(ApiError, match="406: Not Acceptable"):
        negotiate_routed("application/*")
    assert negotiate_routed("application/*, application/yaml").media == "application/yaml"


def test_of_protobuf_a_route_says_that_it_cannot_be_had():
    with pytest.raises(ApiError, match=r"representations: application/json, application/yaml$"):
        negotiate_routed("application/vnd.kubernetes.protobuf")
