"""The controller manager: its rooms are ready (`runtime`, `planning`, `controllers`), its machinery comes with them.

It reaches the API server by HTTP alone and imports of it only `apiserver.api`, so it works with any cluster.
"""
