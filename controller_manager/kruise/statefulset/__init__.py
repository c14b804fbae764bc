"""The controller of Advanced StatefulSets (openkruise/kruise pkg/controller/statefulset)."""
