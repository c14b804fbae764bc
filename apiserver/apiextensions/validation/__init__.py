"""Validation of CustomResourceDefinitions (apiextensions-apiserver/pkg/apis/apiextensions/validation)."""
