"""Code shared by all controllers: the contract, kinds, conditions, owners, pods, revisions. No I/O, no clock.

The modules here are pure: they import neither asyncio nor the client, and time is an argument (seconds since 1970). A
module belongs here once two of `controllers`, `scheduler`, `kubelet` and `kruise` use it; code that only one of them
uses lies in that folder.
"""
