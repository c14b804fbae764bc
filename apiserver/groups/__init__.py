"""API groups: one folder per group, one file or folder per built-in kind. Pure.

All that is special about a kind is in its file, which ends with its `BuiltinKind`: row, defaults, strategy,
validation, field labels, conversion, warnings, columns, and a notice if mockube does not act on it. `kinds` lists all
of them, `rows` joins them with a release. Code that many kinds share lies beside the folders: `kind`, `strategy`,
`columns`, `cells`, `conversion`, `field_labels`, `notices`. A group's folder may hold what its kinds share.
"""
