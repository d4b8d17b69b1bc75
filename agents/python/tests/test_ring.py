"""What one process puts into the shared memory, another takes out, whole and in order."""

import os
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))

from unflake_agent.ring import Ring  # noqa: E402
from unflake_agent.wire import frame, passed, started  # noqa: E402

N_MESSAGES = 60_000


class Frames(unittest.TestCase):
    def test_by_hand_and_by_the_encoder_are_the_same(self):
        at = {"position": 7, "attempt": 1}
        self.assertEqual(started(7, 1), frame("start", at))
        for seconds in (0.0, 1.5e-7, 0.25, 1e22):
            end = dict(at, outcome="passed", phase="call", seconds=seconds)
            self.assertEqual(passed(7, 1, seconds), frame("end", end))


class Shared(unittest.TestCase):
    def test_nothing_is_torn_however_often_it_is_looked_at(self):
        ring = Ring()
        pid = os.fork()
        if pid == 0:
            try:
                ring.adopt()
                for number in range(N_MESSAGES):
                    ring.send("end", position=number)
                os._exit(0)
            finally:
                os._exit(1)
        taken = bytearray()
        expected = b"".join(frame("end", {"position": n}) for n in range(N_MESSAGES))
        while len(taken) < len(expected):
            part = ring.take()
            self.assertEqual(part, expected[len(taken) : len(taken) + len(part)])
            taken += part
        self.assertEqual(os.waitpid(pid, 0)[1], 0)
        self.assertEqual(ring.take(), b"")


if __name__ == "__main__":
    unittest.main()
