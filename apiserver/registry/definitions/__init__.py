"""CustomResourceDefinitions: what becomes of one after it is stored, as pure functions from definition to definition.

Belongs here: the names it gets, its conditions, its end, and the rows by which its kind is served; upstream's are the
controllers of apiextensions-apiserver's pkg/controller. Each function returns a changed copy, or None where nothing
changes. Not here: what a definition may say (validation), what a write adds (strategy), and whoever calls these
functions and stores what they return.
"""
