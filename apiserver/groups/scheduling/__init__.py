"""The API group scheduling."""
