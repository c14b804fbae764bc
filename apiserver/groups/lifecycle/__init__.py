"""The API group lifecycle."""
