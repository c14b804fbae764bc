"""Words of nodes that the server and the controllers share: what they are called, and where their kubelets answer."""

HOSTNAME = "kubernetes.io/hostname"
"""The label that is the name of the machine (LabelHostname)."""
KUBELET_ENDPOINT = "mockube.io/kubelet-endpoint"
"""The annotation of a node whose own addresses lead nowhere: HOST:PORT of what answers for its kubelet."""
