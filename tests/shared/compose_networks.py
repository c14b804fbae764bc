"""A network with a namespace for each of some services, as an engine makes one: a bridge, and a cable to each."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import bridges


@dataclass(frozen=True)
class Network:
    """A bridge, the first of its addresses ours, and namespaces on it.

    Attributes:
        name: of the bridge, and of the namespaces with a number behind it.
        net: the first three numbers of its addresses.
    """

    name: str
    net: str
    size: int

    def namespace(self, number: int) -> str:
        """Return the name of a host's namespace."""
        return bridges.host_name(self.name, number)

    def host(self, number: int) -> str:
        """Return the address of a host."""
        return bridges.host_address(self.net, number)

    def make(self) -> None:
        """Set it up; raises CalledProcessError or OSError where that is not permitted."""
        bridges.add_bridge(self.name, self.net)
        for number in range(self.size):
            bridges.add_host(self.name, self.net, number)

    def remove(self) -> None:
        """Take down what there is of it."""
        for number in range(self.size):
            with suppress(subprocess.CalledProcessError, OSError):
                bridges.remove_host(self.name, number)
        with suppress(subprocess.CalledProcessError, OSError):
            bridges.remove_bridge(self.name)


@contextmanager
def network(size: int) -> Iterator[Network | None]:
    """A network with room for some services, None where this machine does not let us make one."""
    number = random.SystemRandom().randrange(1 << 15)
    made = Network(f"mc{number:x}", f"10.{100 + number % 100}.{number // 100 % 256}", size)
    try:
        try:
            made.make()
            # A mount of its own, as each service will have.
            subprocess.run(
                ["unshare", "--mount", "setpriv", "--bounding-set=-all", "true"], check=True, capture_output=True
            )
        except (subprocess.CalledProcessError, OSError):
            yield None
        else:
            yield made if os.geteuid() == 0 else None
    finally:
        made.remove()
