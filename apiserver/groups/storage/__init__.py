"""The API group storage."""
