"""The garbage collector: the graph of owner references, and what it deletes (pkg/controller/garbagecollector)."""
