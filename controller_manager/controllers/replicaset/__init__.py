"""The replicaset and replicationcontroller controllers, one code for both (pkg/controller/replicaset)."""
