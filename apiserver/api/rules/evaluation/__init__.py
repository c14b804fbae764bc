"""Programs: checked expressions made closures, one per node, which count what they cost as they go.

An evaluation has a budget in upstream's units, of which a thousand take some tenths of a millisecond here. It is
looked at in each turn of a loop and before each call whose cost grows with its arguments, so no rule holds the event
loop for longer than its budget lasts.
"""
