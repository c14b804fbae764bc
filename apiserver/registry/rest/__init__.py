"""The verbs for every kind: one file per verb (k8s.io/apiserver/pkg/registry/rest and generic/registry)."""
