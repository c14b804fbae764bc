"""Patches: one pure function per patch type.

JSON patch and JSON merge patch do not depend on the object's kind; a strategic merge reads from the schema which key
identifies the items of a list. Content types and the checks of bodies belong to the registry.
"""
