"""Arithmetic of rollouts, revisions, placement and stages: pure functions from what is to what should be.

No I/O, no clock, no actions: time is an argument (seconds since 1970), and what comes out is numbers and objects. What
to do about them is the controllers' business. Views are here too: what is worked out of all objects of some kinds, such
as who has which address, and changes with every change of one; they are the only thing here that remembers.
"""
