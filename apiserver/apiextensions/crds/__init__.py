"""The life of a CustomResourceDefinition, as pure functions: names, conditions, approval, served kinds, termination."""
