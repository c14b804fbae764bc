"""Requests of the contract as HTTP, and refusals as errors."""

import json

import orjson
import pytest

from apiserver.api.golang.strings import quoted
from controller_manager.reconcile.contract import (
    MERGE_PATCH,
    Create,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Patch,
    Update,
)
from controller_manager.reconcile.kinds import DEPLOYMENT, NODE, POD
from controller_manager.runtime.requests import http_request, response_error, status_error, with_query

A_POD = {"metadata": {"name": "a", "namespace": "here"}}
OPTIONS = {"kind": "DeleteOptions", "apiVersion": "v1"}


@pytest.mark.parametrize(
    ("request_", "line", "body"),
    [
        (Create(POD, A_POD), "POST /api/v1/namespaces/here/pods", A_POD),
        (Create(NODE, {"metadata": {"name": "n"}}), "POST /api/v1/nodes", {"metadata": {"name": "n"}}),
        (Create(POD, A_POD, "a", "binding"), "POST /api/v1/namespaces/here/pods/a/binding", A_POD),
        (Update(POD, A_POD, "status"), "PUT /api/v1/namespaces/here/pods/a/status", A_POD),
        (Patch(DEPLOYMENT, "here/a", {"x": 1}), "PATCH /apis/apps/v1/namespaces/here/deployments/a", {"x": 1}),
        (Delete(POD, "here/a"), "DELETE /api/v1/namespaces/here/pods/a", None),
        (Delete(NODE, "n", uid="u"), "DELETE /api/v1/nodes/n", OPTIONS | {"preconditions": {"uid": "u"}}),
        (
            Delete(NODE, "n", resource_version="5"),
            "DELETE /api/v1/nodes/n",
            OPTIONS | {"preconditions": {"resourceVersion": "5"}},
        ),
        (
            Delete(NODE, "n", propagation="Orphan", grace_period_seconds=0),
            "DELETE /api/v1/nodes/n",
            OPTIONS | {"propagationPolicy": "Orphan", "gracePeriodSeconds": 0},
        ),
        (DeleteAll(POD, "here"), "DELETE /api/v1/namespaces/here/pods", None),
        (
            DeleteAll(POD, "here", grace_period_seconds=0),
            "DELETE /api/v1/namespaces/here/pods",
            OPTIONS | {"gracePeriodSeconds": 0},
        ),
        (
            DeleteAll(POD, "here", propagation="Foreground"),
            "DELETE /api/v1/namespaces/here/pods",
            OPTIONS | {"propagationPolicy": "Foreground"},
        ),
        (Get(POD, "here/a"), "GET /api/v1/namespaces/here/pods/a", None),
        (Get(POD, "here/a", "status"), "GET /api/v1/namespaces/here/pods/a/status", None),
        (Get(NODE, "a?b/c é"), "GET /api/v1/namespaces/a%3Fb/nodes/c%20%C3%A9", None),
    ],
)
def test_each_request_has_its_method_path_and_body(request_, line, body):
    call = http_request(request_)
    assert f"{call.method} {call.target}" == line
    assert (json.loads(call.body) if call.body else None) == body


def test_a_patch_says_which_kind_of_patch_it_is():
    assert http_request(Patch(POD, "here/a", {})).content_type == MERGE_PATCH
    patch = Patch(POD, "here/a", [], content_type="application/json-patch+json")
    assert http_request(patch).content_type == "application/json-patch+json"


def test_a_list_is_no_single_request():
    with pytest.raises(TypeError, match="ListAll"):
        http_request(ListAll(POD))


def test_queries_are_encoded():
    assert with_query("/api/v1/pods", {"fieldSelector": "a=b&c", "limit": "5"}) == (
        "/api/v1/pods?fieldSelector=a%3Db%26c&limit=5"
    )
    assert with_query("/api/v1/pods", {}) == "/api/v1/pods"


def test_what_a_path_may_hold_stands_as_it_is_beside_what_is_encoded():
    kept = "/:@-._~$&()*+,;="
    assert with_query(f"{kept}é", {}) == f"{kept}%C3%A9"


def test_a_status_is_told_as_it_is():
    details = {"name": "a", "causes": [{"reason": "NamespaceTerminating"}]}
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no", "details": details}
    error = response_error(403, json.dumps(status).encode())
    assert (error.code, error.reason, error.message, error.details) == (403, "Forbidden", "no", details)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (400, "BadRequest"),
        (401, "Unauthorized"),
        (403, "Forbidden"),
        (404, "NotFound"),
        (405, "MethodNotAllowed"),
        (406, "NotAcceptable"),
        (409, "Conflict"),
        (410, "Expired"),
        (413, "RequestEntityTooLarge"),
        (415, "UnsupportedMediaType"),
        (422, "Invalid"),
        (429, "TooManyRequests"),
        (500, "InternalError"),
        (502, "InternalError"),
        (503, "ServiceUnavailable"),
        (504, "Timeout"),
        (302, ""),
    ],
)
@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad Gateway</html>", b'{"kind": "Pod"}', b"[1]", b'{"kind": "Status"', b"\xff"]
)
def test_a_body_that_is_no_status_is_told_by_its_code(code, reason, body):
    error = response_error(code, body, "7")
    assert (error.code, error.reason) == (code, reason)
    assert error.details is not None
    assert error.details["retryAfterSeconds"] == 7
    assert error.details["causes"][0]["reason"] == "UnexpectedServerResponse"


def test_a_status_of_odd_types_is_an_error_all_the_same():
    error = response_error(500, b'{"kind": "Status", "code": null, "reason": 5, "message": null, "details": "x"}')
    assert (error.code, error.reason, error.message, error.details) == (500, "5", "", None)


@pytest.mark.parametrize("code", ["null", "0", '"404"', "[404]", "40.4"])
def test_a_status_whose_code_is_no_number_has_that_of_the_answer(code):
    error = response_error(503, b'{"kind": "Status", "code": %b, "message": "no"}' % code.encode())
    assert (error.code, error.message) == (503, "no")


SILENT = "the server responded with the status code {} but did not return more information"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (302, SILENT.format(302)),
        (400, "the server rejected our request for an unknown reason"),
        (401, "the server has asked for the client to provide credentials"),
        (404, "the server could not find the requested resource"),
        (405, "the server does not allow this method on the requested resource"),
        (409, "the server reported a conflict"),
        (422, "the server rejected our request due to an error in our request"),
        (429, "the server has received too many requests and has asked us to try again later"),
        (499, SILENT.format(499)),
        (500, 'an error on the server ("a \\"b\\"") has prevented the request from succeeding'),
        (503, "the server is currently unable to handle the request"),
        (
            504,
            "the server was unable to return a response in the time allotted, but may still be processing the request",
        ),
    ],
)
def test_what_is_no_status_is_told_in_the_words_of_client_go_and_quoted_beside(code, message):
    error = response_error(code, b' a "b"\n')
    assert error.message == message
    assert error.details == {"causes": [{"reason": "UnexpectedServerResponse", "message": 'a "b"'}]}


@pytest.mark.parametrize(
    ("code", "silent"),
    [
        (403, "the server does not allow this request"),
        (406, "the server was unable to respond with a content type that the client supports"),
        (415, "the body of the request was in an unknown format"),
    ],
)
def test_a_server_that_says_what_it_does_not_allow_or_understand_is_quoted(code, silent):
    assert response_error(code, b"only on Sundays\n").message == "only on Sundays"
    assert response_error(code, b" ").message == silent


def test_a_server_that_says_nothing_is_unknown_to_have_had_a_cause():
    error = response_error(500, b"")
    assert error.message == 'an error on the server ("unknown") has prevented the request from succeeding'
    assert error.details == {"causes": [{"reason": "UnexpectedServerResponse", "message": "unknown"}]}


def test_of_a_long_page_the_first_2048_bytes_are_quoted():
    error = response_error(502, b"q" * 2047 + b"yz" + b"z" * 4000)
    assert error.details is not None
    assert error.details["causes"][0]["message"] == "q" * 2047 + "y"


@pytest.mark.parametrize("soon", ["", "soon", "1.5"])
def test_only_whole_seconds_say_when_to_come_back(soon):
    details = response_error(503, b"", soon).details
    assert details is not None
    assert "retryAfterSeconds" not in details


@pytest.mark.parametrize(
    ("status", "code", "reason", "message"),
    [
        ({"kind": "Status", "code": 410, "reason": "Expired", "message": "old"}, 410, "Expired", "old"),
        ({"kind": "Status", "message": "odd"}, 500, "", "odd"),
        ({"kind": "Pod", "code": 410}, 500, "InternalError", None),
        ("odd", 500, "InternalError", None),
        (None, 500, "InternalError", None),
    ],
)
def test_an_error_within_a_stream_is_its_status_or_the_servers_own_failure(status, code, reason, message):
    error = status_error(status)
    assert (error.code, error.reason) == (code, reason)
    if message is None:
        sent = quoted(orjson.dumps(status).decode())
        message = f"an error on the server ({sent}) has prevented the request from succeeding"
    assert error.message == message
