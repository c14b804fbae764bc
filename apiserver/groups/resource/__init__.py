"""The API group resource."""
