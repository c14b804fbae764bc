"""The API group policy."""
