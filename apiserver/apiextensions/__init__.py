"""Custom resources: what a CustomResourceDefinition declares, and what follows from it. Pure.

`structural` reads the schemas of versions, `rules` their x-kubernetes-validations (over `apiserver.cel`), `validation`
what is wrong with a definition itself, `crds` its names, conditions and end. The controller that serves accepted
definitions is `apiserver.controllers.crd`; custom objects as the registry serves them are
`apiserver.registry.custom_resources`.
"""
