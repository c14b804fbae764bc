"""Images: how names are parsed, which cannot be pulled, and the made-up digests in statuses."""

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

BEHAVIOUR_HOST_SUFFIX = ".mockube.io"
"""Images of hosts in this domain behave as the host's name says: crash.mockube.io/anything."""
SHELL_IMAGES = frozenset(
    ("almalinux", "alpine", "bash", "busybox", "centos", "debian", "fedora", "rockylinux", "ubuntu")
)
"""Images whose default command is a shell: it exits at once without a terminal; arguments are a command."""
NONEXISTENT_IMAGES = frozenset(("docker.io/library/nginx:1.161",))
"""Images that the Kubernetes documentation uses as examples of mistakes; no registry has them."""
MISSING_IMAGE_NAME = re.compile(
    r"no[-_.]?such|not[-_.]?found|(does|do|will)[-_.]?not[-_.]?exist|non[-_.]?exist(ent|ing)"
)

_DOMAIN = r"(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::\d+)?/)?"
_COMPONENT = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_REFERENCE = re.compile(
    rf"{_DOMAIN}{_COMPONENT}(?:/{_COMPONENT})*(?::\w[\w.-]{{0,127}})?(?:@[A-Za-z]\w*:[0-9a-fA-F]{{32,}})?", re.ASCII
)
_PARTS = re.compile(r"(?P<name>.+?)(?P<tag>:[^/:@]+)?(?P<digest>@.+)?")


@dataclass(frozen=True, slots=True)
class Image:
    """A container's image.

    Attributes:
        written: as written in the pod.
        reference: as in a status: "docker.io/library/nginx:1.27".
        id: the image's repository with a digest derived from its reference.
        name: the last part of its repository: "nginx".
        kind: the behaviour that its host names: "crash" of crash.mockube.io, "" for other hosts.
        invalid: the error if the name is not valid, else "".
        missing: True if its name says that no registry has it.
    """

    written: str
    reference: str
    id: str
    name: str
    kind: str
    invalid: str
    missing: bool

    @property
    def pull_error(self) -> str:
        """The error of containerd for an image that does not exist."""
        quoted = f'"{self.reference}"'
        return (
            f"rpc error: code = NotFound desc = failed to pull and unpack image {quoted}: "
            f"failed to resolve reference {quoted}: {self.reference}: not found"
        )


@lru_cache(maxsize=4096)
def image_of(written: str) -> Image:
    """Return the image that a pod names (distribution/reference, as the kubelet's applyDefaultImageTag uses it)."""
    if not _REFERENCE.fullmatch(written):
        return Image(written, written, "", "", "", _parse_error(written), missing=False)
    parts = _PARTS.fullmatch(written)
    assert parts is not None
    repository, digest = _repository(parts["name"]), parts["digest"]
    tag = parts["tag"] or ("" if digest else ":latest")
    reference = f"{repository}{tag}{digest or ''}"
    host = repository.partition("/")[0]
    return Image(
        written,
        reference,
        f"{repository}{digest or f'@sha256:{sha256(reference.encode()).hexdigest()}'}",
        repository.rpartition("/")[2],
        host.removesuffix(BEHAVIOUR_HOST_SUFFIX) if host.endswith(BEHAVIOUR_HOST_SUFFIX) else "",
        "",
        missing=reference in NONEXISTENT_IMAGES or MISSING_IMAGE_NAME.search(reference) is not None,
    )


def _repository(name: str) -> str:
    """Return the repository with its host; short names belong to docker.io."""
    first, slash, _ = name.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return name
    return f"docker.io/{name}" if slash else f"docker.io/library/{name}"


def _parse_error(written: str) -> str:
    """Return the kubelet's error for an invalid image name."""
    name = written.partition("@")[0].partition(":")[0]
    message = "invalid reference format"
    if name != name.lower() and _REFERENCE.fullmatch(written.replace(name, name.lower())):
        message += f": repository name ({_repository(name).partition('/')[2]}) must be lowercase"
    return f'Failed to apply default image tag "{written}": couldn\'t parse image name "{written}": {message}'
