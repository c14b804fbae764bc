"""Bindings."""

from apiserver.groups.kind import CREATE, BuiltinKind

BINDING = BuiltinKind("", "Binding", verbs=CREATE)
