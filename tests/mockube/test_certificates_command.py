"""`mockube certificates`: what servers that others start need."""

import ssl
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

Refused = Callable[..., str]


def certificates(*arguments: str | Path) -> str:
    """Return what the command prints; it must succeed."""
    ran = subprocess.run(
        [sys.executable, "-m", "mockube", "certificates", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr == ""
    return ran.stdout


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def names(path: Path) -> list[str]:
    dns_names = certificate(path).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return [str(name.value) for name in dns_names]


def test_the_server_has_the_names_that_are_given_and_those_that_kubeconfigs_lead_to(tmp_path: Path) -> None:
    certificates("--data-dir", tmp_path, "--host", "a,10.1.2.3", "--kubeconfig", f"{tmp_path}/k=https://b.test:1")
    assert {"localhost", "127.0.0.1", "a", "10.1.2.3", "b.test", "10.96.0.1"} <= {
        *names(tmp_path / "pki/apiserver.crt")
    }
    assert names(tmp_path / "pki/kubelet.crt") == names(tmp_path / "pki/apiserver.crt")


def test_the_name_of_the_machine_is_none_of_them_as_each_container_has_another(tmp_path: Path) -> None:
    certificates("--data-dir", tmp_path)
    known = {"localhost", "127.0.0.1", "::1", "10.96.0.1"}
    assert [name for name in names(tmp_path / "pki/apiserver.crt") if name not in known] == [
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
    ]


def test_each_kubeconfig_leads_to_its_server_with_the_same_token(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "more" / "outside"
    said = certificates(
        "--data-dir",
        tmp_path,
        "--kubeconfig",
        f"{inside}=https://a:6443",
        "--kubeconfig",
        f"{outside}=https://[::1]:7/",
    )
    configs = [yaml.safe_load(path.read_text()) for path in (inside, outside)]
    assert [config["clusters"][0]["cluster"]["server"] for config in configs] == ["https://a:6443", "https://[::1]:7"]
    tokens = {config["users"][0]["user"]["token"] for config in configs}
    assert tokens == {(tmp_path / "pki/tokens.csv").read_text().split(",")[0]}
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (inside, outside))
    assert tokens.pop() not in said


def test_a_second_time_changes_nothing_but_what_is_asked_for(tmp_path: Path) -> None:
    given = ("--data-dir", tmp_path / "a", "--etcd-dir", tmp_path / "b", "--etcd-host", "etcd")
    certificates(*given)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*/pki/*")}
    certificates(*given)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*/pki/*")} == before
    certificates(*given, "--etcd-host", "other")
    changed = {path.name for path in tmp_path.rglob("*/pki/*") if path.read_bytes() != before[path]}
    assert changed == {"server.crt", "server.key", "client.crt", "client.key", "made.json"}


def test_etcd_and_its_client_have_an_authority_of_their_own(tmp_path: Path) -> None:
    certificates("--data-dir", tmp_path / "a", "--etcd-dir", tmp_path / "b", "--etcd-host", "etcd")
    pki = tmp_path / "b/pki"
    assert names(pki / "server.crt") == ["localhost", "127.0.0.1", "::1", "etcd"]
    for name in ("server", "client"):
        certificate(pki / f"{name}.crt").verify_directly_issued_by(certificate(pki / "ca.crt"))
        with pytest.raises(ValueError, match="issuer"):
            certificate(pki / f"{name}.crt").verify_directly_issued_by(certificate(tmp_path / "a/pki/ca.crt"))
        context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        context.load_cert_chain(pki / f"{name}.crt", pki / f"{name}.key")


@pytest.mark.parametrize(("name", "serves"), [("server", True), ("client", False)])
def test_etcds_gateway_calls_with_the_servers_certificate_and_the_client_serves_nothing(
    tmp_path: Path, name: str, *, serves: bool
) -> None:
    certificates("--data-dir", tmp_path / "a", "--etcd-dir", tmp_path / "b")
    usages = certificate(tmp_path / f"b/pki/{name}.crt").extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert ExtendedKeyUsageOID.CLIENT_AUTH in usages
    assert (ExtendedKeyUsageOID.SERVER_AUTH in usages) == serves


def test_everything_is_the_owners_alone(tmp_path: Path) -> None:
    certificates("--data-dir", tmp_path / "a", "--etcd-dir", tmp_path / "b")
    for path in [*tmp_path.rglob("*")]:
        mode = 0o700 if path.is_dir() else 0o600
        if path != tmp_path / "b":  # a volume, as it was mounted
            assert path.stat().st_mode & 0o777 == mode, path


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--etcd-host", "a"], "--etcd-host: give --etcd-dir as well"),
        (["--host", "a,,b"], "no list of names"),
        (["--host", "a b"], "no list of names"),
        (["--host=-a"], "no list of names"),
        (["--kubeconfig", "file"], "give FILE=https://HOST:PORT"),
        (["--kubeconfig", "file=http://a"], "give FILE=https://HOST:PORT"),
        (["--kubeconfig", "file=https://a:99999"], "give FILE=https://HOST:PORT"),
        (["--kubeconfig", "file=https://a/path"], "give FILE=https://HOST:PORT"),
        (["--kubeconfig", "=https://a"], "give FILE=https://HOST:PORT"),
        (["--service-cluster-ip-range", "10.0.0.1/8"], "no network with room"),
        (["--service-cluster-ip-range", "10.0.0.1/32"], "no network with room"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    refused: Refused, tmp_path: Path, arguments: list[str], why: str
) -> None:
    assert why in refused("certificates", "--data-dir", tmp_path / "a", *arguments)
    assert not (tmp_path / "a").exists()


def test_a_place_that_cannot_be_written_is_said_in_one_line(refused: Refused, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    line = refused("certificates", "--data-dir", tmp_path / "file")
    assert line == f"mockube: {tmp_path}/file: File exists; name a place that can be written"


def test_the_directory_of_a_cluster_that_runs_is_left_alone(
    up: Callable[..., object], refused: Refused, home: Path
) -> None:
    up()
    assert "is in use by process" in refused("certificates", "--data-dir", home / ".local/share/mockube")
