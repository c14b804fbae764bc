"""The machinery under every controller, the same for all: client, watchers, caches, queues, events, election.

A kind is a row in `kinds`. Controllers see `contract` and what is as pure as it is, such as `kinds`, `claims` and
`meters`; all that waits, asks or tells the time is here and nowhere else. Time comes from one Clock that the manager
hands down.
"""
