"""Custom resources: the schemas, rules, names and conditions of CustomResourceDefinitions, as pure functions.

`structural` reads the schemas of versions, `rules` their x-kubernetes-validations (over `apiserver.cel`), `validation`
validates definitions themselves, `crds` has their names, conditions and end. The controller that serves accepted
definitions is `apiserver.controllers.crd`; custom objects as the registry serves them are
`apiserver.registry.custom_resources`.
"""
