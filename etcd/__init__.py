"""Versioned keys: a store of bytes under string keys, every write a revision, every revision watchable.

Belongs here: the contract (`store`), the engine (`mvcc`), and the backends that implement the contract: in memory
(`embedded`), on disk (`durable`, with `sqlite` and `wal`) and over an etcd cluster (`cluster_store`, with
`watch_cache`, `range_reader`, `cluster`, `access`, `leases`, `compactor` and `coalesce`); `snapshot` reads a database
that another process has open, `compaction` says when to compact, `backends` opens a store by its URL.
Does not belong here: anything of Kubernetes. Keys are strings, values are bytes, and what a caller wants kept
beside a value is opaque. Nothing of the other packages is imported.
"""
