"""Labels and annotations of Nodes that the server and the controllers share."""

HOSTNAME = "kubernetes.io/hostname"
"""The label with the name of the machine (LabelHostname)."""
ZONE, REGION = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
"""The labels with the zone and the region that a machine is in (LabelTopologyZone, LabelTopologyRegion)."""
KUBELET_ENDPOINT = "mockube.io/kubelet-endpoint"
"""The annotation of a Node whose own addresses lead nowhere: HOST:PORT of the server that acts as its kubelet."""
