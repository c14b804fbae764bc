"""The revisions that a restored store gives: above all that a client may have seen of the store in the backup.

A client that watches from a revision of the old store has to get 410 Gone, or else it would miss the differences.
And its memory of an object must not look newer than the object (etcd's own tool does the same in
`etcdutl snapshot restore --bump-revision --mark-compacted`). So all objects get new revisions, and nothing is known
of earlier ones. The old store's last revision is not known here; it is estimated from the time.
"""

from typing import Final

from mockube.backup.archive import Header

PER_SECOND: Final = 1000
"""Revisions per second that a server makes at the most in the long run, counted since the backup."""
BURST: Final = 100_000
"""Further revisions that a server may make at once, if one was running at the time of the backup."""


def highest_seen(header: Header, now: float) -> int:
    """Return an estimate of the highest revision that a client may have seen of the store in a backup."""
    burst = 0 if header.closed else BURST
    return header.revision + burst + round(max(now - header.taken, 0.0) * PER_SECOND)
