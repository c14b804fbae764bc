"""The API group certificates."""
