"""The core group (v1)."""
