import base64

import pytest
from signing_requests import APISERVER_CLIENT, APPROVED, CLIENT_USAGES, authority, pem_request, signing_request

from apiserver.api.errors import ApiError
from controller_manager.controllers.certificates.cleaner import SPEC, SWEEP_KEY
from controller_manager.reconcile.contract import Delete
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST
from controller_manager.reconcile.times import format_time

HOUR = 3600


def request_of(now, age, *conditions, certificate=""):
    """Return a request that was created and decided on `age` seconds ago."""
    time = format_time(now - age)
    decided = [condition | {"lastUpdateTime": time} for condition in conditions]
    csr = signing_request(pem_request("jane"), APISERVER_CLIENT, CLIENT_USAGES, *decided)
    csr["metadata"]["creationTimestamp"] = time
    if certificate:
        csr["status"]["certificate"] = base64.b64encode(certificate.encode()).decode()
    return csr


@pytest.fixture
def clean(reconcile):
    def run(csr, answers=lambda _: None):
        return reconcile(SPEC, SWEEP_KEY, {CERTIFICATE_SIGNING_REQUEST: [csr]}, answers)

    return run


@pytest.mark.parametrize("type_", ["Approved", "Denied", "Failed"])
def test_a_decided_request_goes_after_an_hour(clean, now, type_):
    condition = APPROVED | {"type": type_}
    assert clean(request_of(now, HOUR, condition)).of(Delete) == []
    (deletion,) = clean(request_of(now, HOUR + 1, condition)).of(Delete)
    assert (deletion.key, deletion.uid) == ("r", "u")


def test_an_undecided_request_goes_after_a_day(clean, now):
    assert clean(request_of(now, 24 * HOUR)).of(Delete) == []
    assert len(clean(request_of(now, 24 * HOUR + 1)).of(Delete)) == 1


def test_a_request_goes_when_its_certificate_has_ended(clean, now):
    ended, good = authority(now - 2 * 86400, days=1)[0], authority(now)[0]
    assert len(clean(request_of(now, 1, APPROVED, certificate=ended)).of(Delete)) == 1
    assert clean(request_of(now, 1, APPROVED, certificate=good)).of(Delete) == []


def test_it_does_not_matter_who_deletes_a_request(clean, now):
    def gone(action):
        return ApiError(404, "NotFound", "gone") if isinstance(action, Delete) else None

    assert clean(request_of(now, 25 * HOUR), gone).error is None
