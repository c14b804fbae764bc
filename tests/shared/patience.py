"""How long tests wait for what has to come.

A wait ends as soon as that is there, so a slow machine costs time and nothing else; the bound is there for what never
comes. How quick something is belongs to the bench.
"""

SECONDS = 300.0
"""More than anything here takes on a machine that does ten other things."""
