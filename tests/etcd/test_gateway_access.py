"""Authentication between a store and etcd, both ways: certificates, users, tokens that expire."""

import asyncio
import base64
import datetime as dt
import gc
import ipaddress
import socket
import ssl
import struct
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from etcd_networks import Proxy
from loop_leaks import open_transports
from patience import SECONDS

from etcd.access import ClusterConfig, Credentials, KeyPrefix
from etcd.store import Event, StoreError, Unreachable

PODS = "/registry/pods/"


@dataclass
class Signer:
    """A certificate authority that writes the certificates it signs to a folder."""

    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.folder.mkdir(exist_ok=True)
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._signed(self.name, self.key.public_key(), is_authority=True)
        self.file = self.folder / "ca.crt"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str) -> tuple[str, str]:
        """Files with a certificate for 127.0.0.1 and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._signed(name, key.public_key(), is_authority=False)
        files = self.folder / f"{name}.crt", self.folder / f"{name}.key"
        files[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        form = serialization.PrivateFormat.TraditionalOpenSSL
        files[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
        return str(files[0]), str(files[1])

    def _signed(self, name: str, key: ec.EllipticCurvePublicKey, *, is_authority: bool) -> x509.Certificate:
        now = dt.datetime.now(dt.UTC)
        subject, issuer = (x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, each)]) for each in (name, self.name))
        uses = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - dt.timedelta(hours=1))
            .not_valid_after(now + dt.timedelta(hours=1))
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if not is_authority:
            names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
            builder = builder.add_extension(names, critical=False)
            builder = builder.add_extension(x509.ExtendedKeyUsage(uses), critical=False)
        return builder.sign(self.key, hashes.SHA256())


@pytest.fixture(scope="module")
def signer(tmp_path_factory):
    return Signer(tmp_path_factory.mktemp("signer"), "etcd-ca")


@pytest.fixture(scope="module")
def other_signer(tmp_path_factory):
    return Signer(tmp_path_factory.mktemp("other"), "somebody else")


@pytest.fixture(scope="module")
def credentials(signer):
    certificate, key = signer.issue("client")
    return Credentials(ca_file=str(signer.file), cert_file=certificate, key_file=key)


@pytest.fixture(scope="module")
def secured(clusters, signer, credentials, tmp_path_factory):
    """An etcd that speaks TLS, and only with clients whose certificates it trusts."""
    certificate, key = signer.issue("server")
    flags = ["--cert-file", certificate, "--key-file", key, "--trusted-ca-file", str(signer.file), "--client-cert-auth"]
    trust = ssl.create_default_context(cafile=credentials.ca_file)
    trust.load_cert_chain(credentials.cert_file, credentials.key_file)
    with clusters.running(tmp_path_factory.mktemp("secured"), flags=flags, trust=trust) as cluster:
        yield cluster


# -- certificates


def failed_handshake(test):
    """asyncio leaves the socket of a handshake that failed to the garbage collector, which says so now and then."""
    ignored = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    return ignored(pytest.mark.usefixtures("tidied_up")(test))


@pytest.fixture
def tidied_up():
    """Nothing is left for the garbage collector to complain of in the next test."""
    yield
    gc.collect()


async def test_who_is_trusted_and_shows_a_certificate_is_served(opened, secured, credentials):
    store = await opened(secured.url, access=ClusterConfig(credentials=credentials))
    watcher = store.watch(PODS, after=store.revision)
    kv = await store.put(PODS + "a", b"1")
    await store.sync_read()
    assert [event.kv for event in watcher.next_nowait()] == [kv]


async def test_a_store_that_closes_waits_for_no_farewell_of_an_etcd_with_tls(opened, secured, credentials):
    etcd = secured.members[0]
    async with Proxy((etcd.host, etcd.client)) as proxy:
        store = await opened(proxy.url.replace("http", "https"), access=ClusterConfig(credentials=credentials))
        await store.put(PODS + "a", b"1")
        assert _connections_to(proxy)
        proxy.mute()
        await store.close()
        assert not _connections_to(proxy)


def _connections_to(proxy):
    transports = open_transports(asyncio.get_running_loop())
    return [transport for transport in transports if transport.get_extra_info("peername")[1] == proxy.port]


@failed_handshake
async def test_an_etcd_whose_authority_is_another_is_refused_in_clear_words(opened, secured, credentials, other_signer):
    with pytest.raises(
        Unreachable, match=f"{secured.url}: its certificate is not trusted: .*certificate verify failed"
    ):
        await opened(
            secured.url, access=ClusterConfig(credentials=replace(credentials, ca_file=str(other_signer.file)))
        )
    with pytest.raises(Unreachable, match="its certificate is not trusted"):
        await opened(secured.url, access=ClusterConfig())


@failed_handshake
async def test_an_etcd_that_is_not_called_so_is_refused_in_clear_words(opened, secured, credentials):
    url = secured.url.replace("127.0.0.1", "localhost")
    with pytest.raises(Unreachable, match=r"its certificate is not trusted: .*[Hh]ostname mismatch"):
        await opened(url, access=ClusterConfig(credentials=credentials))


@failed_handshake
@pytest.mark.parametrize("shown", ["none", "another's"])
async def test_who_shows_no_good_certificate_is_refused_in_clear_words(
    opened, secured, credentials, other_signer, shown
):
    certificate, key = ("", "") if shown == "none" else other_signer.issue("client")
    wrong = replace(credentials, cert_file=certificate, key_file=key)
    with pytest.raises(Unreachable, match=f"(?i){secured.url}: .*(certificate|alert)"):
        await opened(secured.url, access=ClusterConfig(credentials=wrong))


async def test_plain_http_to_an_etcd_with_tls_is_told(opened, secured):
    with pytest.raises(Unreachable, match="it closed the connection without an answer"):
        await opened(secured.url.replace("https", "http"))


@failed_handshake
async def test_tls_to_an_etcd_without_is_told(opened, shared_etcd):
    with pytest.raises(Unreachable, match="no TLS is spoken"):
        await opened(shared_etcd.url.replace("http", "https"))


@failed_handshake
async def test_a_member_that_resets_the_connection_at_the_first_bytes_of_tls_is_said_to_speak_none(opened):
    async def reset(_, writer):
        linger_off = struct.pack("ii", 1, 0)  # a close sends RST
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger_off)
        writer.close()

    async with await asyncio.start_server(reset, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(
            Unreachable, match=f"https://127.0.0.1:{port}: Connection reset by peer, .*no TLS is spoken"
        ):
            await opened(f"https://127.0.0.1:{port}")


@failed_handshake
async def test_what_closes_a_connection_at_once_may_not_speak_tls(opened):
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    async with server:
        with pytest.raises(Unreachable, match="Connection reset by peer, which happens where no TLS is spoken"):
            await opened(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}")


async def test_a_host_that_there_is_not_is_named(opened):
    with pytest.raises(Unreachable, match=r"no\.such\.host\.invalid:2379: there is no host no\.such\.host\.invalid"):
        await opened("http://no.such.host.invalid:2379")


async def test_something_else_that_speaks_json_is_no_etcd(opened):
    async def answer(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b'HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n{"ok":true}')
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(Unreachable, match="no etcd answers there, but HTTP 200 and other JSON"):
            await opened(f"http://127.0.0.1:{port}")


@pytest.mark.parametrize("wrong", ["ca_file", "cert_file", "key_file"])
async def test_a_file_that_is_no_certificate_is_named(opened, credentials, tmp_path, wrong):
    (tmp_path / "odd").write_text("odd")
    for path in (tmp_path / "odd", tmp_path / "missing"):
        with pytest.raises(StoreError, match=rf"the certificates for etcd \(.*{path}.*\) cannot be used"):
            await opened(
                "https://127.0.0.1:1", access=ClusterConfig(credentials=replace(credentials, **{wrong: str(path)}))
            )


async def test_an_address_of_ipv6_is_written_as_urls_have_it(opened):
    with pytest.raises(
        Unreachable, match=r"http://\[::1\]:1: (Connection refused|Cannot assign|Address family|Network is)"
    ):
        await opened("http://[::1]:1")


# -- users

LIFE = 1
"""Seconds after which a token that nobody uses is forgotten."""


@pytest.fixture(scope="module")
def guarded(clusters, tmp_path_factory):
    """An etcd that requires a user and a password, and whose tokens expire soon; only root has the role root."""
    with clusters.running(tmp_path_factory.mktemp("guarded"), flags=["--auth-token-ttl", str(LIFE)]) as cluster:
        etcd = cluster.members[0]
        etcd.call("auth/role/add", name="root")
        for user in ("root", "weak", "reader"):
            etcd.call("auth/user/add", name=user, password="secret")
        etcd.call("auth/user/grant", user="root", role="root")
        etcd.call("auth/role/add", name="reader")
        for kind, key, end in (("READ", "AA==", "AA=="), ("READWRITE", encoded("/ours/"), encoded("/ours0"))):
            etcd.call("auth/role/grant", name="reader", perm={"permType": kind, "key": key, "range_end": end})
        etcd.call("auth/user/grant", user="reader", role="reader")
        etcd.call("auth/enable")
        yield cluster


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


ROOT = ClusterConfig(credentials=Credentials(user="root", password="secret"))


async def test_a_user_with_a_password_is_served(opened, guarded):
    store = await opened(guarded.url, access=ROOT)
    watcher = store.watch(PODS, after=store.revision)
    kv = await store.put(PODS + "a", b"")
    assert [event.kv for event in await asyncio.wait_for(watcher.next(), SECONDS)] == [kv]


@pytest.mark.parametrize(
    ("user", "password", "words"),
    [
        ("", "", "etcdserver: user name is empty: it wants a user and a password"),
        ("root", "wrong", "etcdserver: authentication failed, invalid user ID or password"),
        ("nobody", "secret", "etcdserver: authentication failed, invalid user ID or password"),
        ("weak", "secret", "etcdserver: permission denied: the user has to be able to read all keys"),
    ],
)
async def test_who_may_not_is_refused_in_etcds_words(opened, guarded, user, password, words):
    with pytest.raises(StoreError, match=f"{guarded.url}: {words}") as caught:
        await opened(guarded.url, access=ClusterConfig(credentials=Credentials(user=user, password=password)))
    assert "secret" not in str(caught.value)


async def test_a_user_who_reads_all_keys_and_writes_its_own_needs_no_more(opened, guarded):
    credentials = Credentials(user="reader", password="secret")
    store = await opened(
        guarded.url, access=ClusterConfig(credentials=credentials, key_prefix=KeyPrefix("/registry", "/ours"))
    )
    watcher = store.watch(PODS, after=store.revision)
    kv = await store.put(PODS + "a", b"1")
    deleted = await store.delete(PODS + "a", expect=kv.mod_revision)
    await store.sync_read()
    assert list(watcher.next_nowait()) == [Event(kv.mod_revision, kv.key, kv, None), deleted]
    elsewhere = await opened(guarded.url, access=ClusterConfig(credentials=credentials))
    with pytest.raises(StoreError, match=r"etcdserver: permission denied: .* and to write those of this server"):
        await elsewhere.put(PODS + "a", b"")


async def forgotten(guarded, store) -> None:
    """Wait until the token of a store is; to look whether it is known lets it live on."""
    async with asyncio.timeout(SECONDS):
        while True:
            await asyncio.sleep(2.5 * LIFE)
            member, token = guarded.members[0], store._cluster._clients[0].token
            if await asyncio.to_thread(is_refused, member, token):
                return


def is_refused(member, token: str) -> bool:
    return "invalid auth token" in member.said("kv/range", token, key="AA==")


async def test_a_token_that_ran_out_is_replaced(opened, guarded, monkeypatch):
    monkeypatch.setattr("etcd.watch_cache.CHECK_INTERVAL", 1000)
    store = await opened(guarded.url, access=ROOT)
    store._cluster._clients[0].token = "forgotten.1"
    results = await asyncio.gather(*(store.put(f"{PODS}{n}", b"") for n in range(20)), store.sync_read())
    assert len(results) == 21
    store._cluster._clients[0].token = "forgotten.1"
    await store.sync_read()
    await forgotten(guarded, store)
    await store.delete(PODS + "1")


async def test_a_watch_that_breaks_off_after_the_token_ran_out_goes_on(opened, guarded, monkeypatch):
    monkeypatch.setattr("etcd.watch_cache.CHECK_INTERVAL", 1000)
    member = guarded.members[0]
    other = await opened(guarded.url, access=ROOT)
    async with Proxy((member.host, member.client)) as proxy:
        store = await opened(proxy.url, access=ROOT)
        watcher = store.watch(PODS, after=store.revision)
        await forgotten(guarded, store)
        proxy.drop()
        kv = await other.put(PODS + "b", b"")
        events = await asyncio.wait_for(watcher.next(), SECONDS)
        assert [event.kv for event in events] == [kv]


async def test_a_change_of_rights_is_no_end_for_who_still_has_them(opened, guarded):
    store = await opened(guarded.url, access=ROOT)
    await store.put(PODS + "c", b"1")
    admin = await opened(guarded.url, access=ROOT)
    await admin._cluster.write("/auth/role/add", {"name": "more"})
    await store.put(PODS + "c", b"2")
    await store.sync_read()
    assert store.get(PODS + "c").value == b"2"
