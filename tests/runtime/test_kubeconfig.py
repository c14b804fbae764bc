"""Credentials of the manager from a kubeconfig."""

import ssl
from base64 import b64encode
from pathlib import Path

import pytest
import yaml

from controller_manager.runtime.kubeconfig import ClientConfig, ClientConfigError, in_cluster, load_kubeconfig

CLUSTER = {"server": "https://10.0.0.1:6443/", "certificate-authority-data": b64encode(b"the ca").decode()}


def config(cluster=None, user=None, **more):
    return {
        "current-context": "it",
        "contexts": [{"name": "it", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": CLUSTER | (cluster or {})}],
        "users": [{"name": "u", "user": {"token": "t"} | (user or {})}],
    } | more


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "config"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


def test_server_certificate_and_token_are_those_of_the_context(written):
    access = load_kubeconfig(written(config()))
    assert (access.server, access.ca, access.bearer_token()) == ("https://10.0.0.1:6443", b"the ca", "t")


def test_another_context_can_be_chosen(written):
    other = {"name": "other", "context": {"cluster": "c", "user": ""}}
    contexts = [*config()["contexts"], other]
    assert load_kubeconfig(written(config(contexts=contexts)), "other").token == ""


def test_files_are_found_beside_the_kubeconfig(written, tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"in a file")
    (tmp_path / "admin.crt").write_bytes(b"cert")
    (tmp_path / "admin.key").write_bytes(b"key")
    user = {"client-certificate": "admin.crt", "client-key": str(tmp_path / "admin.key")}
    access = load_kubeconfig(
        written(config({"certificate-authority-data": "", "certificate-authority": "ca.crt"}, user))
    )
    assert (access.ca, access.client_cert, access.client_key) == (b"in a file", b"cert", b"key")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "no mapping"),
        ("- a", "no mapping"),
        ("{", "is no kubeconfig"),
        ({}, "no current-context"),
        (config(contexts=[]), "no context named 'it'"),
        (config(contexts="it"), "no context named 'it'"),
        (config(contexts=[{"name": "it", "context": None}]), "no context named 'it'"),
        (config(clusters=None), "no cluster named 'c'"),
        (config(users=[]), "no user named 'u'"),
        (config({"server": "10.0.0.1"}), "is no URL: '10.0.0.1'"),
        (config({"certificate-authority-data": "%%"}), "certificate-authority-data is no base64"),
        (
            config({"certificate-authority-data": "", "certificate-authority": "gone"}),
            "certificate-authority cannot be read",
        ),
        (config({"proxy-url": "http://proxy"}), "proxy-url is not known here"),
        (config(user={"exec": {"command": "aws"}}), "exec is not known here; give a token or a client certificate"),
        (config(user={"username": "admin"}), "username is not known here"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(written, content, why):
    path = written(content)
    with pytest.raises(ClientConfigError, match=why) as caught:
        load_kubeconfig(path)
    assert str(path.parent) in str(caught.value)


def test_a_file_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ClientConfigError, match="the kubeconfig cannot be read"):
        load_kubeconfig(tmp_path / "none")


@pytest.mark.parametrize("field", ["ca", "client_cert"])
def test_invalid_certificates_are_reported(written, field):
    cluster = {"certificate-authority-data": b64encode(b"no PEM" if field == "ca" else b"").decode()}
    data = b64encode(b"no PEM").decode()
    user = {"client-certificate-data": data, "client-key-data": data} if field == "client_cert" else {}
    with pytest.raises(ClientConfigError, match=r"the certificates for https://10\.0\.0\.1:6443 cannot be used"):
        load_kubeconfig(written(config(cluster, user))).tls_context()


def test_an_insecure_cluster_is_not_asked_who_it_is(written):
    cluster = {"insecure-skip-tls-verify": True, "certificate-authority-data": ""}
    context = load_kubeconfig(written(config(cluster))).tls_context()
    assert context is not None
    assert not context.check_hostname


def test_a_pod_finds_its_token_and_the_servers_address(tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"the ca")
    (tmp_path / "token").write_text("first\n")
    address = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}
    access = in_cluster(address, tmp_path)
    assert (access.server, access.ca, access.bearer_token()) == ("https://[fd00::1]:443", b"the ca", "first")
    (tmp_path / "token").write_text("second")
    assert access.bearer_token() == "second"


def test_what_is_no_pod_is_told(tmp_path):
    with pytest.raises(ClientConfigError, match="this is no pod of a cluster"):
        in_cluster({}, tmp_path)
    with pytest.raises(ClientConfigError, match="the token cannot be read"):
        in_cluster({"KUBERNETES_SERVICE_HOST": "h", "KUBERNETES_SERVICE_PORT": "1"}, tmp_path)


def test_a_server_is_asked_who_it_is_unless_it_is_insecure(written):
    plain = {"certificate-authority-data": ""}
    secure = load_kubeconfig(written(config(plain))).tls_context()
    assert secure is not None
    assert (secure.check_hostname, secure.verify_mode) == (True, ssl.CERT_REQUIRED)
    insecure = load_kubeconfig(written(config(plain | {"insecure-skip-tls-verify": True}))).tls_context()
    assert insecure is not None
    assert (insecure.check_hostname, insecure.verify_mode) == (False, ssl.CERT_NONE)
    assert load_kubeconfig(written(config({"server": "http://h"}))).tls_context() is None


def test_a_server_is_asked_who_it_is_where_nothing_is_said():
    context = ClientConfig("https://h").tls_context()
    assert context is not None
    assert context.verify_mode == ssl.CERT_REQUIRED


def test_a_pods_files_are_where_kubernetes_mounts_them(monkeypatch):
    monkeypatch.setattr(Path, "read_bytes", lambda file: str(file).encode())
    access = in_cluster({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"})
    assert access.ca == b"/var/run/secrets/kubernetes.io/serviceaccount/ca.crt"
    assert access.bearer_token() == "/var/run/secrets/kubernetes.io/serviceaccount/token"


def test_the_name_of_the_certificate_may_be_another(written):
    assert load_kubeconfig(written(config({"tls-server-name": "other"}))).server_name == "other"
    assert load_kubeconfig(written(config())).server_name == ""


@pytest.mark.parametrize("field", ["exec", "auth-provider", "tokenFile", "username", "password", "as"])
def test_credentials_of_other_kinds_are_refused(written, field):
    with pytest.raises(ClientConfigError, match=f"{field} is not known here"):
        load_kubeconfig(written(config(user={field: "x"})))


@pytest.mark.parametrize("word", ["HOST", "PORT"])
def test_a_pod_has_both_a_host_and_a_port(tmp_path, word):
    with pytest.raises(ClientConfigError, match="this is no pod"):
        in_cluster({f"KUBERNETES_SERVICE_{word}": "1"}, tmp_path)


def test_a_pod_finds_an_address_of_ipv4(tmp_path):
    (tmp_path / "ca.crt").write_bytes(b"the ca")
    (tmp_path / "token").write_text("t")
    address = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    assert in_cluster(address, tmp_path).server == "https://10.0.0.1:443"
