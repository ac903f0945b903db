"""A reader at work: one terminal for the commands, and another terminal for each command that keeps running."""

import os
import pty
import re
import select
import signal
import subprocess
import time

import world

# The shell's text behind each step: its exit status between two characters that no output contains.
END = re.compile(rb"\x1e(\d+)\x1e$")
LIMIT = 60


class Session:
    """Types the steps of a document in the clone at `place`."""

    def __init__(self, place, scratch):
        self.place = place
        self.scratch = scratch
        self.terminals = []
        self.screen, other = pty.openpty()
        # Commands print to a terminal, as they do for a reader. The shell reads commands from files, so that no command
        # can take the following commands for its input.
        self.shell = self.start(["sh"], subprocess.PIPE, other)
        os.close(other)

    def start(self, command, source, target):
        """Starts a process as the leader of a new session and process group."""
        return subprocess.Popen(
            command, stdin=source, stdout=target, stderr=subprocess.STDOUT, cwd=self.place,
            env=world.environment(), start_new_session=True,
        )

    def type(self, commands):
        """Types commands into the terminal. Returns the last command's exit status and the output of all commands."""
        file = self.scratch / "commands"
        file.write_text(commands)
        self.shell.stdin.write(f". {file} < /dev/null; printf '\\036%s\\036' $?\n".encode())
        self.shell.stdin.flush()
        printed = b""
        deadline = time.monotonic() + LIMIT
        while not (end := END.search(printed)):
            readable, _, _ = select.select([self.screen], [], [], max(0, deadline - time.monotonic()))
            if not readable:
                raise TimeoutError(f"no end within {LIMIT} s; it printed:\n{printed.decode(errors='replace')}")
            printed += os.read(self.screen, 65536)
        return int(end.group(1)), printed[: end.start()].decode(errors="replace")

    def open(self, commands):
        """Types commands into a terminal of their own. Returns as soon as a process listens on another port."""
        before = world.listening()
        path = self.scratch / f"terminal-{len(self.terminals)}"
        with open(path, "wb") as log:
            process = self.start(["sh", "-c", commands], subprocess.DEVNULL, log)
        self.terminals.append(process)
        deadline = time.monotonic() + LIMIT
        while not world.listening() - before:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"no process listens; the terminal printed:\n{path.read_text(errors='replace')}")
            time.sleep(0.05)

    def close(self):
        """Ends the shell first, and then the terminals in the opposite order of their start."""
        for process in [self.shell, *reversed(self.terminals)]:
            for ending in (signal.SIGTERM, signal.SIGKILL):
                try:
                    os.killpg(process.pid, ending)
                    process.wait(timeout=LIMIT)
                except ProcessLookupError:
                    break
                except subprocess.TimeoutExpired:
                    continue
