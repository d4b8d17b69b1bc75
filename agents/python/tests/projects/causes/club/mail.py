"""Letters are sent by a thread, so that nobody has to wait."""

import threading
import time


class Mailer:
    def __init__(self):
        self.sent = []

    def send(self, address):
        threading.Thread(target=self._deliver, args=(address,), daemon=True).start()

    def _deliver(self, address):
        time.sleep(0.01)
        self.sent.append(address)
