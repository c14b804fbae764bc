"""OpenKruise's kinds: validation and defaults. Their definitions are custom resources (registry/bootstrap/kruise)."""
