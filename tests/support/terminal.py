"""A real terminal: a pty with a session of its own, its keyboard, its screen and its size."""

import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios
import threading

from support.processes import wait_until

END = b"\x1eend of the screen\x1e"


class Terminal:
    """Runs a command line as the session leader in the foreground of a new terminal."""

    def __init__(self, line, cwd, env, rows=24, columns=80):
        self.master, slave = pty.openpty()
        self.resize(rows, columns)
        self.modes_at_start = termios.tcgetattr(slave)
        self.process = subprocess.Popen(line, cwd=cwd, env=env, stdin=slave, stdout=slave, stderr=slave,
                                        start_new_session=True, close_fds=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
        self.slave = slave  # kept open, so that what was printed is never lost when the command leaves
        self.pid = self.process.pid
        self.seen = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        while True:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                return
            if not data:
                return
            self.seen += data

    def type(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def modes(self):
        """The terminal's settings, to compare before and after."""
        return termios.tcgetattr(self.slave)

    def expect(self, text, timeout=60):
        needle = text.encode() if isinstance(text, str) else text
        wait_until(lambda: needle in self.seen, timeout, f"{text!r} on the screen ({self.seen[-500:]!r})")

    def finish(self, timeout=60):
        """Waits for the command to end; returns its exit code (negative: the signal)."""
        try:
            code = self.process.wait(timeout)
        except subprocess.TimeoutExpired:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait()
            raise AssertionError(f"not ended within {timeout} s; screen: {self.seen[-2000:]!r}") from None
        # The end of what was printed: behind it comes what is written now.
        os.write(self.slave, END)
        wait_until(lambda: END in self.seen, what="the end of the screen")
        self.seen = self.seen.replace(END, b"")
        return code

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        for fd in (self.slave, self.master):
            os.close(fd)
