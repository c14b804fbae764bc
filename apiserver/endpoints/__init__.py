"""HTTP only: paths, parameters, content negotiation, streams, discovery, Tables, errors as Status."""
