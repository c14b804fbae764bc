"""The life of a pod on a simulated node: each sync computes the next status from the pod and the time (pkg/kubelet).

A container's life is a table of stages (`containers`); annotations, images and commands say how it behaves
(`behaviour`). Pure: no I/O, no clock.
"""
