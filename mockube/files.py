"""Files that only their owner may read, and the lock with which one server reserves a directory."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NEW = ".new"


class InUseError(Exception):
    """Another server uses the directory; the message says which directory and which process."""


def make_private_directory(path: Path) -> None:
    """Create a directory that only its owner may enter; an existing one stays as it is.

    Raises:
        OSError: it cannot be created.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)


def write_private(path: Path, content: str | bytes) -> None:
    """Write a file atomically: mode 0600 from its first byte on, and readers see either all of it or the old content.

    Raises:
        OSError: it cannot be written.
    """
    path = path.resolve()  # a symbolic link stays a link
    draft = path.with_name(f".{path.name}.{os.getpid()}{_NEW}")
    draft.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Reserve a directory for this process; the system releases the lock however the process ends.

    Raises:
        InUseError: another process has it.
        OSError: the lock file cannot be created.
    """
    with os.fdopen(os.open(directory / "lock", os.O_RDWR | os.O_CREAT, 0o600), "r+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = file.read().strip() or "another process"
            raise InUseError(f"{directory} is in use by {owner}; stop it, or choose another with --data-dir") from error
        file.truncate()
        file.write(f"process {os.getpid()}")
        file.flush()
        yield
