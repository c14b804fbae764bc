"""The API group batch."""
