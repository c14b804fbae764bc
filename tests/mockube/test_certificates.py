import os
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import NameOID

from mockube.certificates import Certificates, ensure_certificates, server_names

NOW = 1_800_000_000.0
DAY = 86400.0
NAMES = server_names("127.0.0.1", "10.96.0.0/12")
PAIRS = ("apiserver", "admin", "kubelet", "apiserver-kubelet-client")
SIGNED = {"made.json", *(f"{name}{suffix}" for name in PAIRS for suffix in (".crt", ".key"))}
FILES = SIGNED | {"ca.crt", "ca.key", "sa.key", "sa.pub", "tokens.csv"}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "pki"


def made(directory: Path, *, names: tuple[str, ...] = NAMES, now: float = NOW) -> Certificates:
    return ensure_certificates(directory, names, now=now)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def changed(before: dict[str, bytes], after: dict[str, bytes]) -> set[str]:
    return {name for name in before | after if before.get(name) != after.get(name)}


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_every_file_and_the_directory_are_the_owners_alone_whatever_the_umask(directory: Path) -> None:
    before = os.umask(0)
    try:
        made(directory)
    finally:
        os.umask(before)
    assert directory.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in directory.iterdir()} == FILES
    assert {path.stat().st_mode & 0o777 for path in directory.iterdir()} == {0o600}


def test_a_directory_that_was_open_to_others_is_closed(directory: Path) -> None:
    directory.mkdir(mode=0o755)
    made(directory)
    assert directory.stat().st_mode & 0o777 == 0o700


def test_the_server_is_known_by_every_name_that_clients_may_call_it(directory: Path) -> None:
    names = server_names("192.0.2.7", "10.0.0.0/24")
    server = made(directory, names=names).server
    covered = certificate(server).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in covered] == list(names)
    assert {"localhost", "127.0.0.1", "::1", "kubernetes.default.svc.cluster.local", "10.0.0.1", "192.0.2.7"} <= {
        *names
    }


def test_the_administrator_is_in_the_group_that_may_do_everything(directory: Path) -> None:
    certificates = made(directory)
    subject = certificate(directory / "admin.crt").subject
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == ["kubernetes-admin"]
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]
    assert certificates.tokens.read_text() == (
        f'{certificates.token},kubernetes-admin,kubernetes-admin,"system:masters"\n'
        f"{certificates.manager_token},system:kube-controller-manager,system:kube-controller-manager\n"
    )


def test_the_manager_gets_a_token_of_its_own_beside_those_that_are_there(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    kept = 'mine,kubernetes-admin,1,"system:masters"', "of-jane,jane,2"
    (directory / "tokens.csv").write_text("\n".join(kept))
    certificates = made(directory)
    assert certificates.token == "mine"
    manager = f"{certificates.manager_token},system:kube-controller-manager,system:kube-controller-manager"
    assert certificates.tokens.read_text().splitlines() == [kept[0], manager, kept[1]]
    assert made(directory) == certificates


def test_kubelets_know_the_server_by_a_certificate_of_that_group(directory: Path) -> None:
    subject = certificate(made(directory).kubelet_client).subject
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.COMMON_NAME)] == [
        "kube-apiserver-kubelet-client"
    ]
    assert [part.value for part in subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)] == ["system:masters"]


def test_kubelets_are_known_by_the_names_of_the_machine(directory: Path) -> None:
    kubelet = made(directory).kubelet
    covered = certificate(kubelet).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [str(name.value) for name in covered] == list(NAMES)


def test_tokens_are_long_and_never_twice_the_same(tmp_path: Path) -> None:
    tokens = {made(tmp_path / name).token for name in ("a", "b")}
    assert len(tokens) == 2
    assert min(map(len, tokens)) >= 43


@pytest.mark.parametrize("name", PAIRS)
def test_a_signed_certificate_is_verified_with_the_authority_under_strict_rules(directory: Path, name: str) -> None:
    certificates = made(directory)
    issuer = certificate(certificates.authority)
    certificate(directory / f"{name}.crt").verify_directly_issued_by(issuer)
    context = ssl.create_default_context(cafile=str(certificates.authority))
    context.verify_flags |= ssl.VERIFY_X509_STRICT
    context.load_cert_chain(directory / f"{name}.crt", directory / f"{name}.key")


def test_the_next_start_uses_what_is_there(directory: Path) -> None:
    made(directory)
    before = contents(directory)
    made(directory, now=NOW + 300 * DAY)
    assert contents(directory) == before


def test_a_start_that_makes_nothing_does_not_import_cryptography(directory: Path) -> None:
    made(directory)
    program = (
        "import sys; from pathlib import Path; from mockube.certificates import ensure_certificates\n"
        f"ensure_certificates(Path({str(directory)!r}), {NAMES!r}, now={NOW})\n"
        "print('cryptography' in sys.modules)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "False\n"


@pytest.mark.parametrize(
    ("names", "now"),
    [
        pytest.param((*NAMES, "192.0.2.7"), NOW, id="a name more"),
        pytest.param(NAMES, NOW + 359 * DAY, id="near the end"),
        pytest.param(NAMES, NOW + 1000 * DAY, id="long after the end"),
    ],
)
def test_certificates_are_renewed_by_the_same_authority(directory: Path, names: tuple[str, ...], now: float) -> None:
    token = made(directory).token
    before = contents(directory)
    assert made(directory, names=names, now=now).token == token
    assert changed(before, contents(directory)) == SIGNED
    assert certificate(directory / "apiserver.crt").not_valid_after_utc.timestamp() > now + 300 * DAY


def test_fewer_names_than_before_need_no_new_certificate(directory: Path) -> None:
    made(directory, names=(*NAMES, "192.0.2.7"))
    before = contents(directory)
    made(directory)
    assert contents(directory) == before


def test_an_authority_near_its_end_is_replaced(directory: Path) -> None:
    made(directory)
    before = contents(directory)
    made(directory, now=NOW + 3400 * DAY)
    assert changed(before, contents(directory)) == SIGNED | {"ca.crt", "ca.key"}


@pytest.mark.parametrize("content", [b"", b"\xff\xfe,u,u\n", b"# nothing\n", b"a: b,u,u\n"])
def test_a_token_that_no_client_could_send_is_made_again(directory: Path, content: bytes) -> None:
    (directory / "tokens.csv").parent.mkdir(parents=True, exist_ok=True)
    (directory / "tokens.csv").write_bytes(content)
    token = made(directory).token
    assert len(token) == 43
    assert (directory / "tokens.csv").read_text().startswith(f"{token},")


@pytest.mark.parametrize(
    ("name", "also"),
    [
        ("apiserver.crt", set()),
        ("apiserver.key", set()),
        ("made.json", set()),
        ("ca.key", {"ca.crt", "ca.key"}),
        ("ca.crt", {"ca.crt", "ca.key"}),
        ("sa.key", {"sa.key", "sa.pub"}),
    ],
)
@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_text("not what it was")], ids=["lost", "spoilt"])
def test_a_file_that_is_lost_or_spoilt_is_made_again(directory: Path, name: str, also: set[str], harm: object) -> None:
    made(directory)
    before = contents(directory)
    assert callable(harm)
    harm(directory / name)
    made(directory)
    assert changed(before, contents(directory)) == SIGNED | also
