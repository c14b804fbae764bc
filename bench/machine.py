"""What a result must say of the machine that it comes from; nothing of it names the machine or its owner."""

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

_LIBRARIES = ("aiohttp", "uvloop", "orjson")


def facts(directory: Path) -> dict[str, object]:
    """Processor, system, versions, the disk's speed, and how busy the machine is before the run.

    Args:
        directory: a place on the disk that is measured.
    """
    return {
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "openssl": ssl.OPENSSL_VERSION,
        "libraries": {name: version(name) for name in _LIBRARIES},
        "wrk": wrk.version(),
        "commit": _commit(),
        "fsync_ms": round(_fsync_seconds(directory) * 1000, 3),
        "load_before": round(os.getloadavg()[0], 2),
    }


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _commit() -> str:
    git = ["git", "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _fsync_seconds(directory: Path) -> float:
    """The median of writing a page and waiting until it is on disk."""
    taken = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(50):
            began = time.perf_counter()
            file.write(b"\0" * 4096)
            file.flush()
            os.fsync(file.fileno())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)
