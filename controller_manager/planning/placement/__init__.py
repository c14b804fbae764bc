"""Placement: which node a pod goes to, or why to none; filters, scores and preemption of kube-scheduler.

`cluster` keeps what nodes have left and pods ask for, `board` ranks the nodes for pods that are alike, `preemption`
finds who would have to go, `scheduling_queue` says whose turn it is. All is pure: what comes in are objects, and times
as numbers; who writes anything is the controller `scheduler`.
"""
