"""Allocation of a UnitedDeployment's pods to its subsets, one file per algorithm (allocator.go). Pure arithmetic."""
