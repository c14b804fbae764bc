"""wire.md, section 6.1 and 6.3: tokens, client certificates, TLS."""

import asyncio
import json
import logging
import socket
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from apiserver.app import serving
from apiserver.config import Config, ConfigError, check
from mockube import Cluster
from mockube.certificates import ensure_certificates

PUBLIC = ("/healthz", "/livez", "/readyz", "/readyz/ping", "/version")
PRIVATE = (
    "/",
    "/api",
    "/apis",
    "/api/v1/pods",
    "/openapi/v2",
    "/openapi/v3",
    "/metrics",
    "/nowhere",
    "/api/v1/nonsense",
)


async def ask(api, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, Any]:
    """Without the client's own token."""
    async with aiohttp.ClientSession() as session, session.request(method, api.url + path, headers=headers) as response:
        return response.status, await response.read(), response.headers


@pytest.mark.parametrize("path", PUBLIC)
async def test_anybody_may_read_health_and_version(api, path: str) -> None:
    assert (await ask(api, path))[0] == 200


@pytest.mark.parametrize("path", PRIVATE)
async def test_nobody_unknown_may_read_anything_else(api, path: str) -> None:
    code, body, _ = await ask(api, path)
    assert code == 401
    assert json.loads(body) == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "Unauthorized",
        "reason": "Unauthorized",
        "code": 401,
    }


@pytest.mark.parametrize(
    "given", ["Bearer nonsense", "Basic YTpi", "Bearer", "Bearer ", "of-the-administrator", "bearer"]
)
@pytest.mark.parametrize("path", ["/api/v1/pods", "/version"])
async def test_a_credential_that_is_no_good_is_401(api, given: str, path: str) -> None:
    assert (await ask(api, path, Authorization=given))[0] == 401


@pytest.mark.parametrize("given", ["Bearer of-jane", "bearer of-jane", " BEARER of-jane and more"])
async def test_a_token_names_a_user(api, given: str) -> None:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = f"{api.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    headers = {"Authorization": given}
    async with aiohttp.ClientSession() as session, session.post(path, json=review, headers=headers) as response:
        info = (await response.json())["status"]["userInfo"]
    assert (info["username"], info["uid"], info["groups"]) == ("jane", "2", ["dev", "ops", "system:authenticated"])


async def test_a_token_after_two_spaces_is_ignored_with_a_warning(api) -> None:
    code, _, headers = await ask(api, "/api/v1/pods", Authorization="Bearer  of-jane")
    warning = "the provided Authorization header contains extra space before the bearer token, and is ignored"
    assert (code, headers["Warning"]) == (401, f'299 - "{warning}"')


async def test_deny_is_403_in_upstreams_words(opened) -> None:
    async with opened(Config(authorization_modes=("AlwaysDeny",))) as api:
        headers = {"Authorization": "Bearer of-jane"}
        for path, words in {
            "/api/v1/namespaces/default/pods": 'pods is forbidden: User "jane" cannot list resource "pods" '
            'in API group "" in the namespace "default"',
            "/apis/apps/v1/deployments": 'deployments.apps is forbidden: User "jane" cannot list resource '
            '"deployments" in API group "apps" at the cluster scope',
            "/api/v1/nodes/one": 'nodes "one" is forbidden: User "jane" cannot get resource "nodes" in API group "" '
            "at the cluster scope",
            "/api/v1/pods?watch=1": 'pods is forbidden: User "jane" cannot watch resource "pods" in API group "" '
            "at the cluster scope",
            "/metrics": 'forbidden: User "jane" cannot get path "/metrics"',
        }.items():
            code, body, _ = await ask(api, path, **headers)
            status = json.loads(body)
            assert (code, status["reason"]) == (403, "Forbidden")
            assert status["message"] == f"{words}: Everything is forbidden."
        assert (await ask(api, "/healthz", **headers))[0] == 403
        assert (await api.get("/api/v1/pods")).code == 200  # members of system:masters may do everything in every mode


# The file of tokens.


@pytest.mark.parametrize("text", ["secret-token,jane\n", "secret-token\n", "a,b,c\nsecret-token,x\n"])
async def test_a_file_of_tokens_with_a_bad_line_is_refused_without_telling_tokens(tmp_path: Path, text: str) -> None:
    path = tmp_path / "tokens.csv"
    path.write_text(text)
    with pytest.raises(ConfigError, match=r"^--token-auth-file: ") as caught:
        async with serving(check(Config(secure_port=0, token_auth_file=path))):
            pass
    assert "secret-token" not in str(caught.value)
    assert "tokens.csv" in str(caught.value)


def test_a_file_of_tokens_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="is not a file"):
        check(Config(token_auth_file=tmp_path / "none"))


# TLS.


@pytest.fixture(scope="module")
def cluster():
    with Cluster() as cluster:
        yield cluster


def trusting(cluster, **limits: Any) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=cluster.ca_file)
    for name, value in limits.items():
        setattr(context, name, value)
    return context


async def connect(cluster, context: ssl.SSLContext) -> str:
    """The protocol's version that both agree on."""
    port = int(cluster.url.rpartition(":")[2])
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
    version: str = writer.get_extra_info("ssl_object").version()
    writer.close()
    await writer.wait_closed()
    return version


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
async def test_tls_from_1_2_on(cluster, version: str) -> None:
    only = ssl.TLSVersion[version]
    context = trusting(cluster, minimum_version=only, maximum_version=only)
    assert await connect(cluster, context) == version.replace("_", ".")


@pytest.mark.filterwarnings("ignore:ssl.TLSVersion")
async def test_older_tls_is_refused(cluster) -> None:
    context = trusting(cluster, minimum_version=ssl.TLSVersion.TLSv1, maximum_version=ssl.TLSVersion.TLSv1_1)
    context.set_ciphers("DEFAULT@SECLEVEL=0")
    with pytest.raises((ssl.SSLError, ConnectionError)):
        await connect(cluster, context)


async def test_its_own_authority_vouches_for_the_server(cluster) -> None:
    with pytest.raises(ssl.SSLCertVerificationError):
        await connect(cluster, ssl.create_default_context())


# No secret is in the answer.


async def test_log_and_metrics_hold_neither_tokens_nor_secrets(api, caplog) -> None:
    caplog.set_level(logging.DEBUG)
    secrets = "/api/v1/namespaces/default/secrets"
    words = {"stringData": {"password": "open-sesame"}}
    await api.post(secrets, {"metadata": {"name": "a"}} | words)
    await api.put(f"{secrets}/a", {"metadata": {"name": "a"}} | words | {"type": "open-sesame"})
    await api.patch(f"{secrets}/a", words)
    await api.post(secrets, b'{"metadata":{"name":"b"},"stringData":{"password":"open-sesame"')
    await api.post(secrets, {"metadata": {"name": "b"}, "data": {"password": "open-sesame!"}})
    await api.post(f"{secrets}?fieldValidation=Strict", {"metadata": {"name": "b"}, "open-sesame": 1})
    await api.get(f"{secrets}/a")
    await ask(api, secrets, Authorization="Bearer open-sesame")
    await ask(api, secrets, Authorization="Bearer of-jane")
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": "open-sesame"}}
    await api.post("/apis/authentication.k8s.io/v1/tokenreviews", review)
    text = caplog.text + (await api.get("/metrics")).text
    assert "/api/v1/namespaces/default/secrets" in text  # requests are counted
    for secret in ("open-sesame", "b3Blbi1zZXNhbWU", "of-the-administrator", "of-jane"):
        assert secret not in text


# Client certificates.


def holder(
    cluster,
    directory: Path,
    *subject: x509.NameAttribute[str],
    authority: Path | None = None,
    age: timedelta | None = None,
) -> ssl.SSLContext:
    """Return a context that shows a certificate for a subject.

    Args:
        cluster: the cluster whose server is trusted.
        directory: where the certificate is written.
        subject: its subject.
        authority: the certificate of the CA that signs it, beside its key; the cluster's own by default.
        age: how long ago it was made; it lasts for an hour.
    """
    ca_file = authority or cluster.ca_file
    ca = x509.load_pem_x509_certificate(ca_file.read_bytes())
    signing = serialization.load_pem_private_key(ca_file.with_suffix(".key").read_bytes(), None)
    assert isinstance(signing, ec.EllipticCurvePrivateKey)
    key, made = ec.generate_private_key(ec.SECP256R1()), datetime.now(UTC) - (age or timedelta(0))
    certificate = (
        x509.CertificateBuilder(ca.subject, x509.Name(subject), key.public_key(), x509.random_serial_number())
        .not_valid_before(made - timedelta(minutes=5))
        .not_valid_after(made + timedelta(hours=1))
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .sign(signing, hashes.SHA256())
    )
    path = directory / "holder.pem"
    plain = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    path.write_bytes(key.private_bytes(*plain) + certificate.public_bytes(serialization.Encoding.PEM))
    context = trusting(cluster)
    context.load_cert_chain(path)
    return context


async def who(cluster, context: ssl.SSLContext, **headers: str) -> tuple[int, Any]:
    """Return the user that the server takes the client for."""
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    url = f"{cluster.url}/apis/authentication.k8s.io/v1/selfsubjectreviews"
    connector = aiohttp.TCPConnector(ssl=context)
    async with (
        aiohttp.ClientSession(connector=connector) as session,
        session.post(url, json=review, headers=headers) as response,
    ):
        answer = await response.json()
        return response.status, answer["status"]["userInfo"] if response.status == 201 else None


async def test_a_certificate_names_a_user_and_its_groups(cluster, tmp_path: Path) -> None:
    organizations = (x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in ("dev", "ops"))
    context = holder(cluster, tmp_path, *organizations, x509.NameAttribute(NameOID.COMMON_NAME, "joe"))
    code, user = await who(cluster, context)
    assert (code, user["username"]) == (201, "joe")
    assert sorted(user["groups"]) == ["dev", "ops", "system:authenticated"]
    assert (await who(cluster, context, Authorization="Bearer nonsense"))[1]["username"] == "joe"
    (shown,) = x509.load_pem_x509_certificates((tmp_path / "holder.pem").read_bytes())
    fingerprint = shown.fingerprint(hashes.SHA256()).hex()
    assert user["extra"] == {"authentication.kubernetes.io/credential-id": [f"X509SHA256={fingerprint}"]}


async def test_a_certificate_may_name_the_users_uid(cluster, tmp_path: Path) -> None:
    uid = x509.NameAttribute(x509.ObjectIdentifier("1.3.6.1.4.1.57683.2"), "7")
    context = holder(cluster, tmp_path, x509.NameAttribute(NameOID.COMMON_NAME, "joe"), uid)
    assert (await who(cluster, context))[1]["uid"] == "7"


@pytest.fixture(params=["of an unknown CA", "that has expired"])
def refused(request, cluster, tmp_path: Path) -> ssl.SSLContext:
    """A context that shows an administrator's certificate that the server must not take."""
    subject = (
        x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"),
        x509.NameAttribute(NameOID.COMMON_NAME, "admin"),
    )
    if request.param == "that has expired":
        return holder(cluster, tmp_path, *subject, age=timedelta(hours=2))
    other = ensure_certificates(tmp_path / "other", ("localhost",), now=datetime.now(UTC).timestamp())
    return holder(cluster, tmp_path, *subject, authority=other.authority)


async def test_a_certificate_that_cannot_be_verified_gets_a_401(cluster, refused: ssl.SSLContext) -> None:
    connector = aiohttp.TCPConnector(ssl=refused, limit=1)
    async with aiohttp.ClientSession(cluster.url, connector=connector) as session:
        for path in ("/api/v1/pods", "/version", "/api/v1/pods"):  # on one connection
            async with session.get(path) as response:
                body = await response.json()
                assert (response.status, body["kind"], body["reason"]) == (401, "Status", "Unauthorized")


async def test_beside_such_a_certificate_a_token_will_do(cluster, refused: ssl.SSLContext) -> None:
    code, user = await who(cluster, refused, Authorization=f"Bearer {cluster.token}")
    assert (code, user["username"]) == (201, "kubernetes-admin")


@pytest.mark.parametrize("version", ["TLSv1_2", "TLSv1_3"])
async def test_a_resumed_session_is_no_way_around_verification(cluster, refused: ssl.SSLContext, version: str) -> None:
    refused.maximum_version = ssl.TLSVersion[version]
    port, session = int(cluster.url.rpartition(":")[2]), None
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", port)) as plain:
            wrapped = await asyncio.to_thread(
                refused.wrap_socket, plain, server_hostname="127.0.0.1", session=session, do_handshake_on_connect=True
            )
            wrapped.send(b"GET /version HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            answer = await asyncio.to_thread(wrapped.recv, 64)
            assert answer.startswith(b"HTTP/1.1 401 ")
            session = wrapped.session
            assert not wrapped.session_reused
            wrapped.close()


async def test_a_certificate_without_a_name_is_nobodys(cluster, tmp_path: Path) -> None:
    context = holder(cluster, tmp_path, x509.NameAttribute(NameOID.ORGANIZATION_NAME, "system:masters"))
    assert (await who(cluster, context))[0] == 401


async def test_without_a_certificate_a_token_will_do(cluster) -> None:
    assert (await who(cluster, trusting(cluster)))[0] == 401
    code, user = await who(cluster, trusting(cluster), Authorization=f"Bearer {cluster.token}")
    assert (code, "system:masters" in user["groups"]) == (201, True)


async def test_nobody_known_acts_as_nobody_else(api) -> None:
    status, _, _ = await ask(api, "/api/v1/pods", **{"Impersonate-User": "kubernetes-admin"})
    assert status == 401


@pytest.mark.parametrize(
    ("headers", "about"),
    [
        ({"Impersonate-Group": "g"}, 'UID:"", Groups:[]string{"g"}, Extra:map[string][]string(nil)'),
        ({"Impersonate-Uid": "u"}, 'UID:"u", Groups:[]string(nil), Extra:map[string][]string(nil)'),
        (
            {"Impersonate-User": "", "Impersonate-Extra-B%2Fc": "d", "impersonate-extra-a": "e"},
            'UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"e"}, "b/c":[]string{"d"}}',
        ),
    ],
)
async def test_whoever_acts_as_somebody_names_a_user(cluster, headers: dict[str, str], about: str) -> None:
    context, token = trusting(cluster), {"Authorization": f"Bearer {cluster.token}"}
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=context)) as session,
        session.get(f"{cluster.url}/api/v1/pods", headers=token | headers) as response,
    ):
        body = await response.json()
    message = f'requested &user.DefaultInfo{{Name:"", {about}}} without impersonating a user name'
    assert (body["code"], body["reason"], body["message"]) == (400, "BadRequest", message)
