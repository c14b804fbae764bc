"""The API group authentication."""
