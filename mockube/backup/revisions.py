"""Which revisions a restored store gives: above all that a client may have seen of the one that was backed up.

A client that watches from a revision of the old store has to be told that it is gone (410), else it would miss what
differs. And what it remembers of an object must not look newer than the object (etcd's own tool has the same in
`etcdutl snapshot restore --bump-revision --mark-compacted`). So all objects get new revisions, and nothing is known
of earlier ones. What the old store came to after the backup nobody knows here; it is estimated from the time.
"""

from typing import Final

from mockube.backup.archive import Header

PER_SECOND: Final = 1000
"""Revisions that a server makes in the long run, at the most, in a second since its backup."""
BURST: Final = 100_000
"""Revisions that a server may make at once, more than that: where one was running at the time of the backup."""


def highest_seen(header: Header, now: float) -> int:
    """The highest revision that a client may have seen of the store that a backup is of, as far as can be told."""
    burst = 0 if header.closed else BURST
    return header.revision + burst + round(max(now - header.taken, 0.0) * PER_SECOND)
