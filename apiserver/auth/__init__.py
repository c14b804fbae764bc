"""Who is it (authentication) and may it (authorization)."""
