"""How a UnitedDeployment's pods are spread over its subsets: one file per way (allocator.go). Pure arithmetic."""
