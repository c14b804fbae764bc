"""Inside a simulated container: its files, environment, commands and shell.

No real command runs: a process is a generator that yields a syscall (`syscalls`) and is sent its result, by
`controller_manager.kubelet.streams` over a connection or by `log_output` for a log. Nothing here waits, tells the time
or reaches the machine, and everything is bounded, since a user with exec may type anything.
"""
