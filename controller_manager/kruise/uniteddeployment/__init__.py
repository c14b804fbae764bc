"""The uniteddeployment controller (openkruise/kruise pkg/controller/uniteddeployment)."""
