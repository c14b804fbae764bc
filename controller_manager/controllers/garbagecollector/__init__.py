"""The garbage collector: the graph of owner references, and the deletions (pkg/controller/garbagecollector)."""
