"""The default data directory."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """Return this user's own data directory, as the XDG base directory specification defines it."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "mockube"
