"""The deployment controller (pkg/controller/deployment)."""
