"""What a person touches: the command line, certificates and kubeconfig, `Cluster` for embedding, the pytest plugin."""
