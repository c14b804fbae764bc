"""The endpointslice controller (pkg/controller/endpointslice), and functions that fill and write slices."""
