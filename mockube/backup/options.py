"""What a backup is to be: which file, and what it holds beside the objects."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from mockube.backup.archive import Header, Writer, new_archive


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """A backup that somebody wants.

    Attributes:
        path: its file.
        replace: whether a file of that name is replaced.
        files: what it holds of the data directory, by name.
    """

    path: Path
    replace: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def header(self, source: str, *, revision: int, count: int, cluster: str = "", closed: bool = False) -> Header:
        """Its first line, given what is known of the store."""
        return Header(
            taken=time.time(),
            release=version("mockube"),
            source=source,
            revision=revision,
            count=count,
            cluster=cluster,
            closed=closed,
            files=len(self.files),
        )

    def archive(self, header: Header) -> AbstractContextManager[Writer]:
        """Its file, to be written; raises what `new_archive` does."""
        return new_archive(self.path, header, self.files, replace=self.replace)
