"""The API group apiregistration."""
