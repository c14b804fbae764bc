"""API groups: one folder per group, one file or folder per built-in kind. Pure.

All that is special of a kind is in its file, which ends with its `BuiltinKind`: row, defaults, strategy, validation,
field labels, conversion, warnings and columns. `kinds` is the sum of the files, `rows` joins it with a release. What
kinds share lies beside the folders: `kind`, `strategy`, `columns`, `cells`, `conversion`, `field_labels`. A group's
folder may hold what its kinds share.
"""
