"""The endpointslicemirroring controller (pkg/controller/endpointslicemirroring)."""
