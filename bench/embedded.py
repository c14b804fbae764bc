"""Starts embedded clusters one after the other in this process, and prints the milliseconds that each took as JSON."""

import json
import sys
import time

from mockube import Cluster


def main(count: int) -> None:
    """Measure starts; the first one, which reads the release, does not count."""
    with Cluster():
        pass
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        with Cluster():
            taken.append((time.perf_counter() - began) * 1000)
    print(json.dumps(taken))


if __name__ == "__main__":
    main(int(sys.argv[1]))
