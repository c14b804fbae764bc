"""The machinery shared by all controllers: client, reflectors, caches, queues, events, leader election.

Controllers do not see it: they are written with `controller_manager.reconcile`. Everything that waits, sends requests
or reads the time is here and nowhere else. Time comes from one Clock that the manager passes on.
"""
