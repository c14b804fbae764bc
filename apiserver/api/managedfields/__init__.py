"""managedFields and server-side apply: sets of owned fields, the types of values by schema, merge and conflicts.

All of it is pure: what is stored, when, and with which HTTP status, apiserver.registry decides.
"""
