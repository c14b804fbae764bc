"""The API group storagemigration."""
