"""The API group coordination."""
