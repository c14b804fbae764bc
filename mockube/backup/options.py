"""The options of a backup: its file, and what it includes beside the objects."""

import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from mockube.backup.archive import Header, Writer, new_archive


@dataclass(frozen=True, slots=True)
class BackupOptions:
    """The options of a backup to write.

    Attributes:
        path: its file.
        replace: whether to replace an existing file of that name.
        files: the files of the data directory to include, by name.
    """

    path: Path
    replace: bool = False
    files: Mapping[str, bytes] = field(default_factory=dict, repr=False)

    def header(self, source: str, *, revision: int, count: int, cluster: str = "", closed: bool = False) -> Header:
        """Return its header, given the state of the store."""
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
        """Open its file for writing; raises what `new_archive` raises."""
        return new_archive(self.path, header, self.files, replace=self.replace)
