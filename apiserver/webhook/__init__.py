"""Calls of webhooks over HTTPS (k8s.io/apiserver/pkg/util/webhook, and k8s.io/client-go/rest as it is used there).

Here: clients with their certificates, the address of a Service, answers as client-go reads them, and Go's words for
what goes wrong. The reviews and what they mean belong to the callers: admission, and conversion of custom resources.
"""
