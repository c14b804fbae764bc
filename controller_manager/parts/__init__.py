"""Parts of controllers: what several of them do or look up, and what would be too much for one's own file.

Pure as they are: a part yields actions (to be used with `yield from`), says whom a change concerns, reads caches,
names what they are indexed by, keeps a view, or has the meters of a controller; none is a SPEC.
"""
