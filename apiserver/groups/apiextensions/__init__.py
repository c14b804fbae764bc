"""The API group apiextensions."""
