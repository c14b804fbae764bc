"""Requests of the contract as HTTP, and refusals as errors."""

import json

import pytest

from controller_manager.runtime.contract import (
    JSON_PATCH,
    MERGE_PATCH,
    Create,
    Delete,
    DeleteAll,
    Get,
    ListAll,
    Patch,
    Update,
)
from controller_manager.runtime.kinds import DEPLOYMENT, NODE, POD
from controller_manager.runtime.requests import call_of, refusal, with_query

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
            Delete(NODE, "n", propagation="Orphan", grace=0),
            "DELETE /api/v1/nodes/n",
            OPTIONS | {"propagationPolicy": "Orphan", "gracePeriodSeconds": 0},
        ),
        (DeleteAll(POD, "here"), "DELETE /api/v1/namespaces/here/pods", None),
        (DeleteAll(POD, "here", grace=0), "DELETE /api/v1/namespaces/here/pods", OPTIONS | {"gracePeriodSeconds": 0}),
        (Get(POD, "here/a"), "GET /api/v1/namespaces/here/pods/a", None),
        (Get(POD, "here/a", "status"), "GET /api/v1/namespaces/here/pods/a/status", None),
        (Get(NODE, "a?b/c é"), "GET /api/v1/namespaces/a%3Fb/nodes/c%20%C3%A9", None),
    ],
)
def test_each_request_has_its_method_path_and_body(request_, line, body):
    call = call_of(request_)
    assert f"{call.method} {call.target}" == line
    assert (json.loads(call.body) if call.body else None) == body


def test_a_patch_says_which_kind_of_patch_it_is():
    assert call_of(Patch(POD, "here/a", {})).content_type == MERGE_PATCH
    assert call_of(Patch(POD, "here/a", [], content_type=JSON_PATCH)).content_type == JSON_PATCH


def test_a_list_is_no_single_request():
    with pytest.raises(TypeError, match="ListAll"):
        call_of(ListAll(POD))


def test_queries_are_encoded():
    assert with_query("/api/v1/pods", {"fieldSelector": "a=b&c", "limit": "5"}) == (
        "/api/v1/pods?fieldSelector=a%3Db%26c&limit=5"
    )


def test_a_status_is_told_as_it_is():
    details = {"name": "a", "causes": [{"reason": "NamespaceTerminating"}]}
    status = {"kind": "Status", "code": 403, "reason": "Forbidden", "message": "no", "details": details}
    error = refusal(403, json.dumps(status).encode())
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
    error = refusal(code, body, "7")
    assert (error.code, error.reason) == (code, reason)
    assert error.details is not None
    assert error.details["retryAfterSeconds"] == 7
    assert error.details["causes"][0]["reason"] == "UnexpectedServerResponse"


def test_a_status_of_odd_types_is_an_error_all_the_same():
    error = refusal(500, b'{"kind": "Status", "code": null, "reason": 5, "message": null, "details": "x"}')
    assert (error.code, error.reason, error.message, error.details) == (500, "5", "", None)
