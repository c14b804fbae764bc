"""Admission policies: the plug-in ValidatingAdmissionPolicy.

Source: k8s.io/apiserver/pkg/admission/plugin/policy. The requests that a policy is for are found by
`apiserver.admission.matching`; its expressions are compiled by
`apiserver.groups.admissionregistration.policy_expressions`.
"""
