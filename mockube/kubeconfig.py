"""The kubeconfig with which kubectl and other clients reach the server; its other clusters stay as they are.

It has the administrator's token, not a client certificate: with a token the TLS handshake verifies only the server,
no private key leaves the data directory, and a token can be revoked, which a certificate cannot (Kubernetes revokes
none). Both would be equally secret, so the file is readable to its owner alone.
"""

from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mockube.files import make_private_directory, write_private

NAME = "mockube"
"""The name of the cluster, the user and the context."""

_TEMPLATE = """\
apiVersion: v1
kind: Config
clusters:
- cluster:
    certificate-authority-data: {authority}
    server: {server}
  name: {name}
contexts:
- context:
    cluster: {name}
    user: {name}
  name: {name}
current-context: {name}
preferences: {{}}
users:
- name: {name}
  user:
    token: {token}
"""


class KubeconfigError(Exception):
    """A file that exists is no kubeconfig; the message names it and says what to do."""


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """A server's address and credentials.

    Attributes:
        server: the server's URL.
        authority: the certificate (PEM) of the CA that signed the server's.
    """

    server: str
    authority: bytes
    token: str


def write_kubeconfig(path: Path, access: ClusterAccess) -> None:
    """Make the server the current context of a kubeconfig, which is created if it does not exist.

    Raises:
        KubeconfigError: the file holds something else.
        OSError: it cannot be read or written.
    """
    alone = _text(access)
    try:
        present = path.read_text()
    except FileNotFoundError:
        make_private_directory(path.parent)
        present = ""
    except (IsADirectoryError, UnicodeDecodeError) as error:
        raise _refusal(path, "it is no text file") from error
    if not present.strip():
        write_private(path, alone)
    elif present != alone:
        write_private(path, _merge(path, present, alone))
    elif path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _text(access: ClusterAccess) -> str:
    authority = b64encode(access.authority).decode()
    return _TEMPLATE.format(name=NAME, server=access.server, authority=authority, token=access.token)


def _merge(path: Path, present: str, alone: str) -> str:
    import yaml  # late: only files that others have written need to be parsed

    try:
        config = yaml.safe_load(present)
    except yaml.YAMLError as error:
        raise _refusal(path, "it is no YAML") from error
    if not isinstance(config, dict) or config.get("kind", "Config") != "Config":
        raise _refusal(path, "it is no kubeconfig")
    ours = yaml.safe_load(alone)
    for part, field in (("clusters", "cluster"), ("contexts", "context"), ("users", "user")):
        entries = config.get(part) or []
        if not isinstance(entries, list) or not all(_is_entry(entry, field) for entry in entries):
            raise _refusal(path, f"its {part} are no list of entries")
        config[part] = _with(entries, ours[part][0], keep=part == "contexts", field=field)
    config["current-context"] = NAME
    text: str = yaml.safe_dump(ours | config, sort_keys=False)
    return text


def _is_entry(entry: object, field: str) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get(field) or {}, dict)


def _with(entries: list[dict[str, Any]], entry: dict[str, Any], *, keep: bool, field: str) -> list[dict[str, Any]]:
    """Return the entries with ours, replaced or appended; a user's additions to a context (a namespace) are kept."""
    index = next((position for position, existing in enumerate(entries) if existing.get("name") == NAME), len(entries))
    if keep and index < len(entries):
        entry = {**entry, field: {**(entries[index].get(field) or {}), **entry[field]}}
    return [*entries[:index], entry, *entries[index + 1 :]]


def _refusal(path: Path, reason: str) -> KubeconfigError:
    return KubeconfigError(f"{path} cannot be added to: {reason}; name another file with --kubeconfig")
