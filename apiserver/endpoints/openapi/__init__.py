"""OpenAPI: what is served, described for clients, in version 2 (JSON and protobuf) and version 3.

Here: operations computed from rows, schemas translated from the definitions of a release, documents made of both.
Not here: who asks for what in which form; that is the handlers' matter.
"""
