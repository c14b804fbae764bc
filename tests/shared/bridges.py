"""A bridge with a network namespace on it for each host, as a container engine makes one.

The bridge lies in a namespace of its own: where an engine is installed, the machine's packet filter drops what crosses
bridges that the engine does not know (FORWARD's policy is DROP, and br_netfilter shows it bridged frames).
"""

import subprocess


def ip(*words: str) -> None:
    """Run `ip`; raises CalledProcessError or OSError where that is not permitted."""
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def host_name(bridge: str, number: int) -> str:
    """Return the name of a host's namespace."""
    return f"{bridge}-{number}"


def host_address(net: str, number: int) -> str:
    """Return the address of a host; the first address of the network is this machine's."""
    return f"{net}.{number + 2}"


def add_bridge(bridge: str, net: str) -> None:
    """Make a bridge in a namespace of the same name, with a cable from this machine to it."""
    ip("netns", "add", bridge)
    ip("-n", bridge, "link", "add", bridge, "type", "bridge")
    ip("-n", bridge, "link", "set", bridge, "up")
    ip("link", "add", bridge, "type", "veth", "peer", "name", f"{bridge}m", "netns", bridge)
    ip("-n", bridge, "link", "set", f"{bridge}m", "master", bridge, "up")
    ip("addr", "add", f"{net}.1/24", "dev", bridge)
    ip("link", "set", bridge, "up")


def add_host(bridge: str, net: str, number: int) -> None:
    """Make the namespace of a host, with a cable to the bridge."""
    host = host_name(bridge, number)
    ip("netns", "add", host)
    ip("-n", bridge, "link", "add", _cable(bridge, number), "type", "veth", "peer", "name", "eth0", "netns", host)
    ip("-n", bridge, "link", "set", _cable(bridge, number), "master", bridge, "up")
    ip("-n", host, "addr", "add", f"{host_address(net, number)}/24", "dev", "eth0")
    ip("-n", host, "link", "set", "eth0", "up")
    ip("-n", host, "link", "set", "lo", "up")


def set_cable(bridge: str, number: int, state: str) -> None:
    """Set the cable of a host "up" or "down"."""
    ip("-n", bridge, "link", "set", _cable(bridge, number), state)


def remove_bridge(bridge: str) -> None:
    """Remove the bridge; all cables to it go with it."""
    ip("netns", "del", bridge)


def remove_host(bridge: str, number: int) -> None:
    """Remove the namespace of a host."""
    ip("netns", "del", host_name(bridge, number))


def _cable(bridge: str, number: int) -> str:
    return f"{bridge}v{number}"
