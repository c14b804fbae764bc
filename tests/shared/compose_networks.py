"""A network with a namespace for each of some services, as an engine makes one: a bridge, and a cable to each."""

import os
import random
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass


def _ip(words: str) -> None:
    subprocess.run(["ip", *words.split()], check=True, capture_output=True)


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

    def place(self, number: int) -> str:
        """A namespace."""
        return f"{self.name}-{number}"

    def host(self, number: int) -> str:
        """Its address."""
        return f"{self.net}.{number + 2}"

    def make(self) -> None:
        """Set it up; raises CalledProcessError or OSError where that is not permitted."""
        _ip(f"link add {self.name} type bridge")
        _ip(f"addr add {self.net}.1/24 dev {self.name}")
        _ip(f"link set {self.name} up")
        for number in range(self.size):
            place, cable = self.place(number), f"{self.name}v{number}"
            _ip(f"netns add {place}")
            _ip(f"link add {cable} type veth peer name eth0 netns {place}")
            _ip(f"link set {cable} master {self.name} up")
            _ip(f"-n {place} addr add {self.host(number)}/24 dev eth0")
            _ip(f"-n {place} link set eth0 up")
            _ip(f"-n {place} link set lo up")

    def remove(self) -> None:
        """Take down what there is of it."""
        for words in (*(f"netns del {self.place(number)}" for number in range(self.size)), f"link del {self.name}"):
            with suppress(subprocess.CalledProcessError, OSError):
                _ip(words)


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
