"""The API group flowcontrol."""
