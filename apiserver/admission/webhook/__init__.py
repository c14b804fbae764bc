"""Admission webhooks: the plug-ins MutatingAdmissionWebhook and ValidatingAdmissionWebhook.

Source: k8s.io/apiserver/pkg/admission/plugin/webhook. How a webhook is reached is in `apiserver.webhook`, and the
requests that it is for are found by `apiserver.admission.matching`.
"""
