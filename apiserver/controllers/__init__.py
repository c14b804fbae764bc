"""Controllers inside the server, over its own store: CustomResourceDefinitions, expiry of Events, namespaces."""
