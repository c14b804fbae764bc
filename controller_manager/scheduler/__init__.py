"""The scheduler: its queue, its snapshot of the cluster, filters, scores, preemption and binding (pkg/scheduler).

`schedule_one` decides for one pod; `controller` carries that out. Pure: no I/O, no clock.
"""
