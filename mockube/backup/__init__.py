"""Backups: what a store holds at one revision, in a file, and from there into a store of either kind.

Belongs here: the file (`archive`), how each kind of store is read and filled (`embedded`, `clustered`), the
certificates beside the store (`pki`), and what the user sees (`progress`).
Does not belong here: the command line, which is in `commands`, and the bytes of a database (`etcd.snapshot`).
"""
