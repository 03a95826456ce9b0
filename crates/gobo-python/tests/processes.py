"""Processes of gobo's that tests start or end: a daemon of a test's own, and the local workers of the test."""

import os
import pathlib
import signal
import subprocess
import time

BINARY = os.environ.get("GOBO_BINARY")


def workers():
    """The local workers of this process."""
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid() and "gobo_masks.worker" in (folder / "cmdline").read_text():
                yield int(folder.name)
        except (OSError, ValueError):
            continue


class Daemon:
    """`gobo serve` over a store, by the command that GOBO_BINARY names. It answers once this returns."""

    def __init__(self, store):
        self.store = pathlib.Path(store)
        self.server = f"unix:{self.store}/daemon.sock"
        self.process = None
        self.start()

    def start(self):
        log = self.store / "daemon.log"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("GOBO")}
        with log.open("w") as stderr:
            self.process = subprocess.Popen([BINARY, "serve", "--store", self.store], stderr=stderr, env=environment)
        until = time.monotonic() + 60
        while "listening on" not in log.read_text():
            assert self.process.poll() is None and time.monotonic() < until, log.read_text()
            time.sleep(0.01)

    def kill(self):
        """Without a word to anybody."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Deaf: the system takes connections for it, and it reads none."""
        self.process.send_signal(signal.SIGSTOP)
        # Its threads run on until one of them has taken the signal.
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def go_on(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        if self.process.poll() is None:
            self.go_on()
            self.process.terminate()
            self.process.wait(30)
