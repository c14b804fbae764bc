"""What becomes of a pod on a simulated node: a table of stages for containers, and what they make of the pod.

Everything is worked out of the pod as stored and the time: when a container started stands in its status, so a kubelet
that comes back goes on where another stopped. `pods.advance` is the way in; what a pod does is in `behaviour`.
"""
