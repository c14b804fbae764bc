"""The API group authorization."""
