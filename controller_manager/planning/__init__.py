"""Pure arithmetic of rollouts, pods, revisions and placement: no I/O, no clock."""
