"""The certificates, keys and tokens of a data directory, for backups that include them."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from mockube.backup.archive import ArchiveError
from mockube.files import make_private_directory, write_private

DIRECTORY: Final = "pki"


def read_pki(data_dir: Path) -> Mapping[str, bytes]:
    """Return the files by name.

    Raises:
        ArchiveError: there are none.
        OSError: a file cannot be read.
    """
    directory = data_dir / DIRECTORY
    files = {path.name: path.read_bytes() for path in sorted(directory.glob("*")) if path.is_file()}
    if not files:
        raise ArchiveError(
            f"{directory} has no certificates: name the data directory with --data-dir, or leave out --with-pki"
        )
    return files


def require_no_pki(data_dir: Path) -> None:
    """Raise ArchiveError if there are files already."""
    directory = data_dir / DIRECTORY
    if directory.is_dir() and any(directory.iterdir()):
        raise ArchiveError(
            f"{directory} has certificates already: have them replaced with --force, or leave out --with-pki"
        )


def write_pki(data_dir: Path, files: Mapping[str, bytes]) -> None:
    """Write the files, replacing existing ones; raises OSError."""
    directory = data_dir / DIRECTORY
    if directory.exists():
        shutil.rmtree(directory)
    make_private_directory(directory)
    for name, content in files.items():
        write_private(directory / name, content)
