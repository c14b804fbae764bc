"""Kubernetes' data model and pure functions on it: resources, schema, selectors, quantities, patches, errors.

No I/O, no clock, no randomness: every function here gives the same answer for the same arguments.
It also holds `logfmt`, the format of all log lines.
This is the only part of the server that `controller_manager` may import.
"""
