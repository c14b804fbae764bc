"""OpenAPI documents that describe the served API, in version 2 (JSON and protobuf) and version 3.

Here: operations computed from rows, schemas translated from the definitions of a release, documents made of both.
Not here: content negotiation, which is the handlers' task.
"""
