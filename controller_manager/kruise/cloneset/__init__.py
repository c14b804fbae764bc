"""The cloneset controller (openkruise/kruise pkg/controller/cloneset)."""
