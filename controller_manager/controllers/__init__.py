"""One file per controller, each with a SPEC, what it observes and what it plans; they are listed here, no more.

A controller knows neither the client nor the queue nor another controller: it reads caches, and yields actions.
"""
