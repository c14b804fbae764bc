"""Admission: an ordered chain between decoding and storing, one file per plug-in.

A plug-in looks at one write and lets it pass, changes the new object, or raises the ApiError that refuses it.
`chain` holds the contract, `latest` what plug-ins that follow a kind share; which plug-ins run, and in what order, is
said once, in `app`.
"""
