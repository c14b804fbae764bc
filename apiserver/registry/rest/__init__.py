"""What a verb means, for any kind: one file per verb (k8s.io/apiserver/pkg/registry/rest and generic/registry)."""
