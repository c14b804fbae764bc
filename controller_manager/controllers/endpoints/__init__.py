"""The endpoints controller (pkg/controller/endpoint), and the Services and pods that endpoints are made of."""
