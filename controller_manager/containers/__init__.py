"""What is inside a simulated container: files, an environment, a shell, and the commands that people try first.

No container runs, so no command is real either: a process is a generator that asks for what it needs (`effects`) and is
told the answers, by `controller_manager.streams` over a connection or by `printing` for a log. Nothing here waits, asks
the time or reaches the machine; everything is bounded, since whoever may exec may type anything.
"""
