"""The command line of the service: each error is one line that says what is wrong and what to do."""

import subprocess
import sys
from pathlib import Path

import pytest
from patience import SECONDS

from apiserver.config import from_arguments


def refusal(directory: Path, *arguments: str) -> str:
    """Return the service's error for these arguments, from a process: a start sets up logging and the collector."""
    command = [sys.executable, "-m", "apiserver", *arguments]
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 2
    assert not done.stdout
    return done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--kubernetes-version", "1.2"], "Kubernetes 1.2 is not known here: choose one of 1.25 to "),
        (["--service-cluster-ip-range", "10.0.0.0/32"], "10.0.0.0/32 has no room for Services: give a network of"),
        (["--service-cluster-ip-range", "services"], "'services' does not appear to be an IPv4 or IPv6 network"),
        (["--secure-port", "70000"], "70000 is no port: give a number from 0 to 65535"),
        (["--max-requests-inflight", "-1"], "give 0 or more"),
        (["--bind-address", "1.2.3"], "it is neither an IP address nor a host name"),
        (["--token-auth-file", "none"], "--token-auth-file: none is not a file"),
        (["--etcd-servers", "http://127.0.0.1:2379"], "etcd cluster"),
        (["--kubelet-client-certificate", "none"], "--kubelet-client-certificate: none is not a file"),
        (["--kubelet-timeout", "0s"], "--kubelet-timeout: give more than 0s"),
    ],
)
def test_what_cannot_be_used_is_one_line_and_exit_code_2(arguments: list[str], message: str, tmp_path: Path) -> None:
    (line,) = refusal(tmp_path, "--secure-port", "0", *arguments).splitlines()
    assert line.startswith("apiserver: ")
    assert message in line


@pytest.mark.parametrize(
    "flag", ["--client-ca-file", "--tls-cert-file", "--tls-private-key-file", "--kubelet-client-key"]
)
@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"hello\n", b""])
def test_a_file_that_is_no_pem_is_named(flag: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(content)
    message = refusal(tmp_path, "--secure-port", "0", flag, str(tmp_path / "file"))
    assert f"{flag}: {tmp_path / 'file'} cannot be read as PEM" in message


def test_a_pem_that_is_no_certificate_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("-----BEGIN NOTHING-----\n-----END NOTHING-----\n")
    (line,) = refusal(tmp_path, "--secure-port", "0", "--kubelet-certificate-authority", "file").splitlines()
    assert line.startswith("apiserver: --kubelet-client-certificate, --kubelet-certificate-authority: ")


@pytest.mark.parametrize("text", ["1.2.3s", "5", "h", ".s", "-1s", "1 h"])
def test_an_invalid_duration_is_refused(text: str, capsys) -> None:
    with pytest.raises(SystemExit):
        from_arguments([f"--event-ttl={text}"])
    assert "argument --event-ttl: " in capsys.readouterr().err


@pytest.mark.parametrize(("text", "seconds"), [("1h30m", 5400), ("1.5s", 1.5), ("0s", 0)])
def test_durations_are_go_s(text: str, seconds: float) -> None:
    config, _ = from_arguments([f"--event-ttl={text}"])
    assert config.event_ttl == seconds
