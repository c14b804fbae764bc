"""The API group autoscaling."""
