"""The statefulset controller (pkg/controller/statefulset); OpenKruise's own builds upon its arithmetic."""
