"""Authentication (who sends a request) and authorization (may they do it)."""
