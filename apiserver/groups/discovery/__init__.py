"""The API group discovery."""
