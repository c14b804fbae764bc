"""What the server does in the background, over its own store: definitions, expiry of Events, namespaces."""
