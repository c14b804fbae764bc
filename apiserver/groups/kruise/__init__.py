"""OpenKruise's kinds: validation and defaults; their definitions are custom resources (registry/bootstrap/kruise)."""
