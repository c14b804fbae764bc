"""Kubernetes as data and pure functions: resources, schema, selectors, quantities, patches, errors.

No I/O, no clock, no randomness: every function here gives the same answer for the same arguments.
Beside it stands `logfmt`, the one form of log lines.
This is the only part of the server that `controller_manager` may import.
"""
