"""Where data lie if nothing is said."""

import os
from pathlib import Path


def default_data_dir() -> Path:
    """This user's own place, as the XDG base directory specification has it."""
    home = Path(os.environ.get("XDG_DATA_HOME", ""))
    return (home if home.is_absolute() else Path.home() / ".local" / "share") / "mockube"
