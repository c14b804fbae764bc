"""The API group apps."""
