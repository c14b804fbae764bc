"""Code that both services share as programs: flags, log lines, metrics, the key of tokens, start and stop.

Named after the upstream library with the same purpose (k8s.io/component-base). Nothing of Kubernetes' API belongs here,
which is in `apiserver.api`, and nothing that only one of the two programs needs.
"""
