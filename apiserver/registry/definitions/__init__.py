"""CustomResourceDefinitions: what becomes of one after it is stored, and the kinds that are served because of it.

Belongs here: the names it gets, its conditions, its end, and the rows of its kind, as pure functions from definition to
definition that return a changed copy, or None where nothing changes; `registrar` and `emptier` call them and store what
they return. Upstream's are the controllers of apiextensions-apiserver's pkg/controller. Not here: what a definition may
say (validation), and what a write adds to it (strategy).
"""
