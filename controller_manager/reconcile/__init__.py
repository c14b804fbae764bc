"""What every controller is written with: the contract, kinds, conditions, owners, pods, revisions. No I/O, no clock.

The modules here are pure: they import neither asyncio nor the client, and time is an argument (seconds since 1970).
A module belongs here once two of `controllers`, `scheduler`, `kubelet` and `kruise` use it; what one of them uses
alone lies in that one's own folder.
"""
