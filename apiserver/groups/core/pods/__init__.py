"""Pods, and the pod templates of workloads."""
