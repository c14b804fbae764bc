"""Patches: one pure function per content type, and the field sets that managedFields keeps."""
