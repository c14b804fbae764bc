import base64
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID
from signing_requests import APISERVER_CLIENT, APPROVED, CLIENT_USAGES, authority, pem_request, signing_request

from controller_manager.controllers.certificates.authority import CertificateAuthority, validity
from controller_manager.controllers.certificates.signer import SPEC
from controller_manager.reconcile.contract import Settings, Update
from controller_manager.reconcile.kinds import CERTIFICATE_SIGNING_REQUEST

KUBELET_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
KUBELET_SERVING = "kubernetes.io/kubelet-serving"
NODE = ("system:node:n", "system:nodes")
SERVER_USAGES = ("server auth", "digital signature")
ADDRESS, HOST = x509.IPAddress(ip_address("10.0.0.1")), x509.DNSName("n")
MISSING = "missing required usage for client certificate"
NO_NODE = "does not begin with system:node:"
DENIED = APPROVED | {"type": "Denied"}
FAILED = APPROVED | {"type": "Failed"}


@pytest.fixture
def settings(now):
    certificate, key = authority(now)
    return Settings(cluster_signing_cert=certificate, cluster_signing_key=key)


@pytest.fixture
def sign(reconcile, settings):
    """Return a function that returns the writes about a request."""

    def run(csr, **more):
        objects = {CERTIFICATE_SIGNING_REQUEST: [csr]}
        return reconcile(SPEC, "r", objects, settings=more.pop("settings", settings), **more).of(Update)

    return run


def certificate_of(update):
    assert update.subresource == "status"
    return x509.load_pem_x509_certificate(base64.b64decode(update.obj["status"]["certificate"]))


def test_an_approved_request_gets_a_certificate_of_the_authority(sign, settings, now):
    pem = pem_request("jane", "dev", "ops")
    (update,) = sign(signing_request(pem, APISERVER_CLIENT, CLIENT_USAGES, APPROVED))
    certificate = certificate_of(update)
    ca = x509.load_pem_x509_certificate(settings.cluster_signing_cert.encode())
    certificate.verify_directly_issued_by(ca)
    assert certificate.subject == x509.load_pem_x509_csr(pem).subject
    assert certificate.public_key() == x509.load_pem_x509_csr(pem).public_key()
    assert certificate.not_valid_before_utc == datetime.fromtimestamp(now, UTC) - timedelta(minutes=5)
    assert certificate.not_valid_after_utc == datetime.fromtimestamp(now, UTC) + timedelta(days=365, minutes=-5)
    assert update.obj["status"]["conditions"] == [APPROVED]


def test_a_certificate_has_the_usages_of_its_request_and_is_no_authority(sign):
    usages = (*CLIENT_USAGES, "key encipherment")
    (update,) = sign(signing_request(pem_request("jane"), APISERVER_CLIENT, usages, APPROVED))
    extensions = certificate_of(update).extensions
    usage = extensions.get_extension_for_class(x509.KeyUsage)
    assert (usage.critical, usage.value.digital_signature, usage.value.key_encipherment) == (True, True, True)
    assert not usage.value.key_cert_sign
    purposes = extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    constraints = extensions.get_extension_for_class(x509.BasicConstraints)
    assert (constraints.critical, constraints.value.ca) == (True, False)


def test_the_alternative_names_of_a_server_are_kept(sign):
    pem = pem_request(*NODE, names=[HOST, ADDRESS])
    (update,) = sign(signing_request(pem, KUBELET_SERVING, SERVER_USAGES, APPROVED))
    names = certificate_of(update).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert list(names) == [HOST, ADDRESS]


@pytest.mark.parametrize(
    ("requested", "longest", "seconds"),
    [(None, 365 * 86400, 365 * 86400 - 300), (600, 365 * 86400, 600), (86400, 3600, 3600), (7200, 365 * 86400, 7200)],
)
def test_a_request_may_ask_for_less_time(sign, settings, now, requested, longest, seconds):
    more = {} if requested is None else {"expirationSeconds": requested}
    limited = Settings(
        cluster_signing_cert=settings.cluster_signing_cert,
        cluster_signing_key=settings.cluster_signing_key,
        cluster_signing_seconds=longest,
    )
    csr = signing_request(pem_request("jane"), APISERVER_CLIENT, CLIENT_USAGES, APPROVED, **more)
    (update,) = sign(csr, settings=limited)
    assert certificate_of(update).not_valid_after_utc.timestamp() - now == seconds


def test_a_certificate_ends_with_its_authority_and_none_is_made_after_that(now):
    end = datetime.fromtimestamp(now, UTC) + timedelta(hours=1)
    assert validity(timedelta(days=1), now, end)[1] == end
    with pytest.raises(ValueError, match="the signer has expired: NotAfter=2027-01-15 09:00:00"):
        validity(timedelta(days=1), now + 3600, end)


@pytest.mark.parametrize("conditions", [(), (APPROVED, DENIED), (APPROVED, FAILED), (DENIED,)], ids=len)
def test_what_is_not_approved_gets_no_certificate(sign, conditions):
    assert sign(signing_request(pem_request("jane"), APISERVER_CLIENT, CLIENT_USAGES, *conditions)) == []


def test_requests_for_other_signers_are_left_alone(sign, settings):
    assert sign(signing_request(pem_request("jane"), "example.com/mine", CLIENT_USAGES, APPROVED)) == []
    unknown = "kubernetes.io/kube-apiserver-client-pod"
    assert sign(signing_request(pem_request("jane"), unknown, CLIENT_USAGES, APPROVED)) == []


def test_a_certificate_is_made_once_and_without_an_authority_never(sign):
    csr = signing_request(pem_request("jane"), APISERVER_CLIENT, CLIENT_USAGES, APPROVED)
    assert sign(csr, settings=Settings()) == []
    csr["status"]["certificate"] = "eA=="
    assert sign(csr) == []


@pytest.mark.parametrize(
    ("signer", "subject", "names", "usages", "message"),
    [
        (
            APISERVER_CLIENT,
            ("j",),
            (),
            ("digital signature",),
            f"{MISSING}: client auth",
        ),
        (APISERVER_CLIENT, ("j",), (), ("server auth",), "invalid usage for client certificate: server auth"),
        (KUBELET_CLIENT, ("system:node:n",), (), CLIENT_USAGES, "subject organization is not system:nodes"),
        (
            KUBELET_CLIENT,
            ("n", "system:nodes"),
            (),
            CLIENT_USAGES,
            f"subject common name {NO_NODE}",
        ),
        (KUBELET_CLIENT, NODE, (HOST,), CLIENT_USAGES, "DNS subjectAltNames are not allowed"),
        (KUBELET_CLIENT, NODE, (ADDRESS,), CLIENT_USAGES, "IP subjectAltNames are not allowed"),
        (
            KUBELET_CLIENT,
            NODE,
            (),
            SERVER_USAGES,
            "usages did not match [client auth digital signature key encipherment]",
        ),
        (KUBELET_SERVING, NODE, (), SERVER_USAGES, "DNS or IP subjectAltName is required"),
        (
            KUBELET_SERVING,
            NODE,
            (HOST, x509.RFC822Name("a@b")),
            SERVER_USAGES,
            "Email subjectAltNames are not allowed",
        ),
        (
            KUBELET_SERVING,
            NODE,
            (HOST, x509.UniformResourceIdentifier("a:b")),
            SERVER_USAGES,
            "URI subjectAltNames are not allowed",
        ),
        (
            KUBELET_SERVING,
            NODE,
            (HOST,),
            CLIENT_USAGES,
            "usages did not match [digital signature key encipherment server auth]",
        ),
    ],
)
def test_a_signer_says_why_it_refuses_a_request(sign, signer, subject, names, usages, message):
    (update,) = sign(signing_request(pem_request(*subject, names=names), signer, usages, APPROVED))
    assert "certificate" not in update.obj["status"]
    approval, failure = update.obj["status"]["conditions"]
    assert approval == APPROVED
    assert failure == {
        "type": "Failed",
        "status": "True",
        "reason": "SignerValidationFailure",
        "message": message,
        "lastUpdateTime": "2027-01-15T08:00:00Z",
    }


def test_the_key_must_be_that_of_the_certificate(now):
    (certificate, _), (_, key) = authority(now), authority(now)
    with pytest.raises(ValueError, match="the key is not that of the certificate"):
        CertificateAuthority.load(certificate, key)
