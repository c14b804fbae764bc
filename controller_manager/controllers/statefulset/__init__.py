"""The statefulset controller (pkg/controller/statefulset); OpenKruise's StatefulSet controller uses its functions."""
