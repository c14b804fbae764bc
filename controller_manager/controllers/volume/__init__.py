"""The controllers of storage: one file each, and the arithmetic of claims and volumes (pkg/controller/volume)."""
