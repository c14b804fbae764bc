"""The API group admissionregistration."""
