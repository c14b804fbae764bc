"""Kubernetes' data model and pure functions on it: resources, schema, selectors, quantities, patches, errors.

No I/O, no clock, no randomness: every function here gives the same answer for the same arguments.
Of the server's code `controller_manager` may import this package and `component_base`, and nothing else.
"""
