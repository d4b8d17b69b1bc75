"""The members talk to each other."""

import socket
import time


class NoAnswer(Exception):
    pass


def ping(within):
    """A question to the next member, and the answer."""
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        with socket.create_connection(listener.getsockname()) as caller:
            caller.sendall(b"there?")
            member, _ = listener.accept()
            with member:
                member.recv(100)
                member.sendall(b"here")
            answer = caller.recv(100)
    if time.monotonic() - begun > within:
        raise NoAnswer(f"not within {within} s")
    return answer
