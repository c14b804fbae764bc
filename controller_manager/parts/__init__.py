"""Parts of controllers: what several of them do or look up, and what would be too much for one's own file.

Pure as they are: a part yields actions (to be used with `yield from`), reads caches, or keeps a view; none is a SPEC.
"""
