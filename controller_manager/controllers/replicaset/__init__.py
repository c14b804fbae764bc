"""The replicaset and replicationcontroller controllers, which share their code (pkg/controller/replicaset)."""
