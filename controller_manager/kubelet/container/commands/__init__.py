"""COMMANDS = {name: function}: the commands that containers can run; each takes its call and is a process."""

from collections.abc import Mapping

from controller_manager.kubelet.container.commands.archive import tar
from controller_manager.kubelet.container.commands.call import Command
from controller_manager.kubelet.container.commands.conditions import test
from controller_manager.kubelet.container.commands.disk import (
    chmod,
    cp,
    find,
    ln,
    ls,
    mkdir,
    mv,
    rm,
    rmdir,
    stat,
    touch,
)
from controller_manager.kubelet.container.commands.system import (
    basename,
    date,
    env,
    false,
    hostname,
    identity,
    ignored,
    ps,
    pwd,
    sleep,
    true,
    uname,
    which,
    whoami,
)
from controller_manager.kubelet.container.commands.text import (
    cat,
    echo,
    grep,
    head,
    printf,
    seq,
    sort,
    tail,
    tee,
    wc,
    yes,
)

__all__ = ["COMMANDS", "Command"]

COMMANDS: Mapping[str, Command] = {
    "[": test,
    "basename": basename,
    "cat": cat,
    "chmod": chmod,
    "chown": ignored,
    "cp": cp,
    "date": date,
    "dirname": basename,
    "echo": echo,
    "env": env,
    "false": false,
    "find": find,
    "grep": grep,
    "head": head,
    "hostname": hostname,
    "id": identity,
    "kill": ignored,
    "ln": ln,
    "ls": ls,
    "mkdir": mkdir,
    "mv": mv,
    "printenv": env,
    "printf": printf,
    "ps": ps,
    "pwd": pwd,
    "rm": rm,
    "rmdir": rmdir,
    "seq": seq,
    "sleep": sleep,
    "sort": sort,
    "stat": stat,
    "sync": ignored,
    "tail": tail,
    "tar": tar,
    "tee": tee,
    "test": test,
    "touch": touch,
    "true": true,
    "uname": uname,
    "wc": wc,
    "which": which,
    "whoami": whoami,
    "yes": yes,
}
"""Name → command."""
