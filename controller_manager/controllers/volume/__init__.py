"""The storage controllers, one file each, and the calculations about claims and volumes (pkg/controller/volume)."""
