"""The machinery under every controller, which knows no kind: client, watchers, caches, queues, events, election.

Controllers see `contract` and what is as pure as it is, such as `kinds`, `claims` and `meters`; all that waits, asks or
tells the time is here and nowhere else. Time comes from one Clock that the manager hands down.
"""
