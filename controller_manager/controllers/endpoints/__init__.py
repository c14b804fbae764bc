"""The endpoints controller (pkg/controller/endpoint), and the Services and pods from which endpoints are calculated."""
