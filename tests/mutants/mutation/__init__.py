"""Mutation testing: small changes of meaning, one at a time, and whether a test notices.

Belongs here: what a change is (`operators`, `mutants`), how changed code is put into a process (`install`), which tests
cover a line (`coverage_map`), the processes that run them (`processes`, `pytest_run`) and what ends them (`guard`),
what is known of survivors and groups (`config`), the report, and the command (`__main__`). Settings and named survivors
are the toml files beside this package; so are its own tests.
Does not belong here: tests of mockube, and anything that only one of its folders needs.
"""
