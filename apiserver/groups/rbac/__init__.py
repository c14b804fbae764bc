"""The API group rbac."""
