"""Signs approved requests for Kubernetes' own signers with the cluster's CA (pkg/controller/certificates/signer)."""

import base64
from dataclasses import dataclass
from datetime import timedelta

from apiserver.api.meta import Obj
from controller_manager.controllers.certificates import requests
from controller_manager.controllers.certificates.authority import CertificateAuthority
from controller_manager.controllers.certificates.requests import CertificateRequest
from controller_manager.reconcile.conditions import TRUE, condition_of
from controller_manager.reconcile.contract import (
    ControllerSpec,
    Key,
    Listers,
    Plan,
    Settings,
    Update,
    Watch,
    enqueue_self,
)
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST
from controller_manager.reconcile.times import format_time

MIN_SECONDS = 600
"""The shortest life of a certificate in seconds, whatever was asked for: twice that by which it is backdated."""

SIGNERS = frozenset(
    {
        requests.KUBE_APISERVER_CLIENT,
        requests.KUBELET_CLIENT,
        requests.KUBELET_SERVING,
        requests.LEGACY_UNKNOWN,
    }
)


@dataclass(frozen=True, slots=True)
class Approved:
    """An approved request without a certificate."""

    csr: Obj
    settings: Settings


def observe(listers: Listers, key: Key) -> Approved | None:
    """Return an approved request that this controller should sign, or None if there is nothing to do."""
    settings = listers.settings
    csr = listers[CERTIFICATE_SIGNING_REQUEST].get(key)
    if csr is None or not settings.cluster_signing_cert or requests.is_issued(csr):
        return None
    failed = condition_of(csr, requests.FAILED)
    if not requests.is_approved(csr) or (failed is not None and failed["status"] == TRUE):
        return None
    return Approved(csr, settings) if csr["spec"]["signerName"] in SIGNERS else None


def reconcile(approved: Approved, now: float) -> Plan:
    """Write the certificate, or the reason why the signer refuses the request.

    Raises:
        ValueError: the request cannot be parsed or signed.
    """
    csr, settings = approved.csr, approved.settings
    request = requests.parse_request(csr)
    problem = _problem(csr, request)
    if problem:
        failure = {
            "type": requests.FAILED,
            "status": TRUE,
            "reason": "SignerValidationFailure",
            "message": problem,
            "lastUpdateTime": format_time(now),
        }
        yield Update(CERTIFICATE_SIGNING_REQUEST, requests.with_condition(csr, failure), "status")
        return
    authority = CertificateAuthority.load(settings.cluster_signing_cert, settings.cluster_signing_key)
    life = certificate_life(csr["spec"].get("expirationSeconds"), settings.cluster_signing_seconds)
    certificate = authority.sign(request, csr["spec"].get("usages") or (), life, now)
    status = (csr.get("status") or {}) | {"certificate": base64.b64encode(certificate).decode()}
    yield Update(CERTIFICATE_SIGNING_REQUEST, csr | {"status": status}, "status")


def _problem(csr: Obj, request: CertificateRequest) -> str:
    """Return the reason why the signer refuses the request, "" if it signs it."""
    usages = csr["spec"].get("usages") or ()
    match csr["spec"]["signerName"]:
        case requests.KUBE_APISERVER_CLIENT:
            return requests.client_usages_problem(usages)
        case requests.KUBELET_CLIENT:
            return requests.kubelet_client_problem(request, usages)
        case requests.KUBELET_SERVING:
            return requests.kubelet_serving_problem(request, usages)
        case _:
            return ""


def certificate_life(requested: int | None, longest: float) -> timedelta:
    """Return how long a certificate lasts (signer.duration): as requested, but neither very short nor too long."""
    seconds = longest if requested is None else min(max(requested, MIN_SECONDS), longest)
    return timedelta(seconds=seconds)


SPEC = ControllerSpec(
    name="csrsigning",
    account="certificate-controller",
    watches=(Watch(CERTIFICATE_SIGNING_REQUEST, enqueue_self),),
    observe=observe,
    reconcile=reconcile,
    queue="certificate",
)
