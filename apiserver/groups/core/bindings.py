"""Bindings (core), which need no rules of their own."""

from apiserver.groups.kind import CREATE, BuiltinKind

BINDING = BuiltinKind("", "Binding", verbs=CREATE)
