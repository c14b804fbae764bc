"""The API group networking."""
