"""How long a server takes to answer, without what others take from it."""

import pathlib
import time

from support.run import SANITIZED

# The promise is 50 ms; sanitizers cost a multiple.
LIMIT_MS = 500 if SANITIZED else 50
# A host may take a whole machine's CPUs away for a moment, which its kernel need not notice: that does not come each
# time. What the server does to itself does.
ROUNDS = 3


def waited_for_cpu_ms(*pids):
    """How long these were ready to run and had no CPU, as the kernel counts it: a busy machine's doing."""
    return sum(int(pathlib.Path(f"/proc/{pid}/schedstat").read_text(encoding="utf-8").split()[1])
               for pid in pids) / 1e6


def answer_times_ms(ask, pid, seconds):
    """Asks again and again; each wait without that for a CPU, of the asking thread and of the server."""
    own, end = [], time.monotonic() + seconds
    while time.monotonic() < end:
        waited, begin = waited_for_cpu_ms("thread-self", pid), time.monotonic()
        ask()
        own.append((time.monotonic() - begin) * 1e3 - (waited_for_cpu_ms("thread-self", pid) - waited))
        time.sleep(0.005)
    return own


def best_round(measure):
    """measure() gives such times; from the beginning once more, if one of them was too long."""
    for number in range(ROUNDS):
        own = measure()
        print(f"\nhealth, round {number + 1}: worst {max(own):.1f} ms without waiting for a CPU, median "
              f"{sorted(own)[len(own) // 2]:.2f} ms of {len(own)}")
        if max(own) < LIMIT_MS:
            break
    return own
