"""The endpointslice controller (pkg/controller/endpointslice), and how slices are filled and written."""
