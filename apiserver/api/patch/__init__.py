"""Patches: one pure function per type of patch.

JSON patch and JSON merge patch know nothing of the object; a strategic merge reads from the schema by which key the
items of a list are told apart. What a body must look like, and which content type means which, is the registry's.
"""
