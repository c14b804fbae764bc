"""Machinery that knows no kind: client, watcher, cache, work queue, controller, events, leader election."""
