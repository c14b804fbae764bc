"""The API group node."""
