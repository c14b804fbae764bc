"""Deletes old requests (pkg/controller/certificates/cleaner): decided ones after an hour, others after a day."""

import base64
from collections.abc import Sequence
from dataclasses import dataclass

from apiserver.api.errors import ApiError
from apiserver.api.meta import Obj
from controller_manager.controllers.certificates import requests
from controller_manager.reconcile.contract import (
    ControllerSpec,
    Delete,
    Key,
    Listers,
    Plan,
    Watch,
    key_of,
)
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST
from controller_manager.reconcile.times import parse_time

SWEEP_KEY: Key = ""
"""The one key: each run looks at all requests."""
SWEEP_SECONDS = 3600.0
"""Seconds between two runs (pollingInterval)."""
DECIDED_SECONDS = 3600.0
"""Seconds after which a request is deleted that was approved, denied or failed."""
PENDING_SECONDS = 24 * 3600.0
"""Seconds after which a request without conditions is deleted."""


@dataclass(frozen=True, slots=True)
class Requests:
    """All requests."""

    csrs: Sequence[Obj]


def observe(listers: Listers, _: Key) -> Requests:
    """Return all requests."""
    return Requests(tuple(listers[CERTIFICATE_SIGNING_REQUEST]))


def reconcile(observed: Requests, now: float) -> Plan:
    """Delete the requests that nobody needs any more."""
    for csr in observed.csrs:
        if is_obsolete(csr, now):
            try:
                yield Delete(CERTIFICATE_SIGNING_REQUEST, key_of(csr), uid=csr["metadata"]["uid"])
            except ApiError as error:
                if error.code not in (404, 409):  # it has gone, or is another one by now
                    raise


def is_obsolete(csr: Obj, now: float) -> bool:
    """Return whether a request is to be deleted (CSRCleanerController.handle)."""
    conditions = (csr.get("status") or {}).get("conditions") or ()
    if not conditions:
        return _is_older(csr["metadata"].get("creationTimestamp"), PENDING_SECONDS, now)
    if any(each["type"] == requests.APPROVED for each in conditions) and _has_expired(csr, now):
        return True
    return any(
        each["type"] in (requests.APPROVED, requests.DENIED, requests.FAILED)
        and _is_older(each.get("lastUpdateTime"), DECIDED_SECONDS, now)
        for each in conditions
    )


def _is_older(time: str | None, seconds: float, now: float) -> bool:
    return bool(time) and now - parse_time(str(time)) > seconds


def _has_expired(csr: Obj, now: float) -> bool:
    """Return whether the first certificate that was issued has ended (isExpired)."""
    if not requests.is_issued(csr):
        return False
    from cryptography import x509  # noqa: PLC0415 - takes longer to import than most of the manager

    try:
        certificate = x509.load_pem_x509_certificate(base64.b64decode(csr["status"]["certificate"]))
    except ValueError:
        return False
    return now > certificate.not_valid_after_utc.timestamp()


SPEC = ControllerSpec(
    name="csrcleaner",
    account="certificate-controller",
    watches=(Watch(CERTIFICATE_SIGNING_REQUEST),),
    observe=observe,
    reconcile=reconcile,
    workers=1,
    sync_period=SWEEP_SECONDS,
    periodic_keys=(SWEEP_KEY,),
)
