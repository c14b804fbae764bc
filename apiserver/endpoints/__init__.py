"""HTTP and nothing else: paths, parameters, content negotiation, streams, discovery, Tables, errors as Status."""
