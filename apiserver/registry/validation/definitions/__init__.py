"""What a CustomResourceDefinition may say: its names, its versions, and the schemas of the objects of its kind.

The rules are those of apiextensions-apiserver's pkg/apis/apiextensions/validation, in its order; `internal` is the form
in which it looks at a definition, and by which its errors name fields. Not here: what makes a schema structural
(apiserver.api.structural) and what CEL rules may say (apiserver.api.rules).
"""
