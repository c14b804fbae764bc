"""Cluster IPs and node ports: allocated in one transaction with their Service (pkg/registry/core/service)."""
