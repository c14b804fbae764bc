"""The machinery under every controller, the same for all: client, reflectors, caches, queues, events, election.

Controllers see none of it: they are written with `controller_manager.reconcile`. All that waits, asks or tells the time
is here and nowhere else. Time comes from one Clock that the manager hands down.
"""
