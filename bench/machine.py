"""Facts about the machine that a result comes from; they name neither the machine nor its owner."""

import os
import platform
import ssl
import statistics
import subprocess
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import wrk

RESULTS = "bench/results"
_LIBRARIES = ("aiohttp", "uvloop", "orjson")


def facts(directory: Path) -> dict[str, object]:
    """Return the processor, the system, versions, the disk's speed, and the load of the machine before the run.

    Args:
        directory: a directory on the disk that is measured.
    """
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "openssl": ssl.OPENSSL_VERSION,
        "libraries": {name: version(name) for name in _LIBRARIES},
        "wrk": wrk.version(),
        "commit": commit(),
        "fsync_ms": round(_fsync_seconds(directory) * 1000, 3),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def commit() -> str:
    """Return the full id of the commit that is checked out, "" outside a checkout."""
    return _git("rev-parse", "HEAD").strip()


def unnamed() -> str:
    """Return why no commit identifies what is measured, or "" if one does. Differences in results do not count."""
    if not commit():
        return "this is no git checkout, so that the results could not name a commit"
    changes = _git("status", "--porcelain", "--", ":/", f":(exclude,top){RESULTS}")
    return f"these files are not as in the commit that the results would name:\n{changes}" if changes else ""


def _git(*arguments: str) -> str:
    """Return what git prints, or "" without git or a checkout."""
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return ""


def _fsync_seconds(directory: Path) -> float:
    """Return the median time of writing a page and waiting until it is on disk."""
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(50):
            began = time.perf_counter()
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)
