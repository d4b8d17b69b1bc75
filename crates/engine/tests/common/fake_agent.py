"""An agent without a runner: its tests are names, and a name says what the test does.

Speaks docs/design/agent-protocol.md. Arguments after `--` that start with `--` are options, the
others are the tests. A test named `what:which` does `what`.
"""

import json
import os
import signal
import socket
import struct
import sys
import time

PATH, TOKEN = sys.argv[1:3]
OPTIONS = dict(
    (arg[2:] + "=").split("=")[:2] for arg in sys.argv[5:] if arg.startswith("--")
)
TESTS = [arg for arg in sys.argv[5:] if not arg.startswith("--")]


class Connection:
    def __init__(self, role, run=None):
        self.role, self.run = role, run
        self.connect()

    def connect(self):
        if hasattr(self, "socket"):
            # A test has closed it: its number may be that of the next one.
            self.socket.detach()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(PATH)
        version = int(OPTIONS.get("version", 1))
        hello = dict(version=version, role=self.role, token=TOKEN, pid=os.getpid())
        if self.run is not None:
            hello["run"] = self.run
        self.write("hello", hello)

    def write(self, name, body):
        data = json.dumps({name: body}).encode()
        self.socket.sendall(struct.pack(">I", len(data)) + data)

    def say(self, name, **body):
        try:
            self.write(name, body)
        except OSError:
            self.connect()
            self.write(name, body)

    def read(self, size):
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                return None
            data += part
        return data

    def hear(self):
        head = self.read(4)
        return head and json.loads(self.read(struct.unpack(">I", head)[0]))


def perform(test, connection):
    """Does what the name says; the outcome, or what comes before it."""
    what = test.split(":")[0]
    if what == "hang":
        signal.pause()
    if what == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            signal.pause()
    if what == "segv":
        os.write(2, b"last words\n")
        os.kill(os.getpid(), signal.SIGSEGV)
    if what == "exit":
        os._exit(3)
    if what == "kill-parent":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if what == "close":
        os.closerange(3, 256)
    if what == "stray" and os.fork() == 0:
        # A copy that keeps our connection open until its group is killed, or, where it has left
        # the group, until the engine hangs up.
        if test == "stray:session":
            os.setsid()
        connection.socket.recv(1)
        os._exit(0)
    if what == "flood":
        os.write(2, b"x" * (1 << 20))
    return what if what in ("failed", "error", "skipped") else "passed"


def run(request):
    connection = Connection("run", request["run"])
    refused = [{"level": level, "why": "fake"} for level in request["isolation"] if level != "tree"]
    applied = [level for level in request["isolation"] if level == "tree"]
    connection.say("isolated", applied=applied, refused=refused)
    attempts = 2 if request["twice"] else 1
    open(os.path.join(request["scratch"], "made-by-test"), "w").close()
    for position, index in enumerate(request["order"]):
        for attempt in range(attempts):
            connection.say("start", position=position, attempt=attempt)
            outcome = perform(TESTS[index], connection)
            details = {} if outcome == "passed" else {"message": "said " + TESTS[index]}
            connection.say("end", position=position, attempt=attempt, outcome=outcome,
                           phase="call", seconds=0.25, **details)
            if TESTS[index].startswith("stop"):
                connection.say("done")
                os._exit(0)
    connection.say("done")
    os._exit(0)


def fork(request, server, children):
    pid = os.fork()
    if pid == 0:
        os.setpgid(0, 0)
        server.socket.close()
        errors = os.open(os.path.join(request["scratch"], "errors.txt"), os.O_CREAT | os.O_WRONLY)
        os.dup2(errors, 2)
        run(request)
    try:
        os.setpgid(pid, pid)
    except OSError:
        pass
    children[pid] = request
    server.say("forked", run=request["run"], pid=pid)


def main():
    if "marker" in OPTIONS:
        # Alive as long as somebody holds the pipe open.
        os.open(OPTIONS["marker"], os.O_WRONLY)
    if "die" in OPTIONS:
        sys.exit("dying as told")
    if "die-next-time" in OPTIONS:
        try:
            os.mkdir(OPTIONS["die-next-time"])
        except FileExistsError:
            sys.exit("dying as told")
    if "grow" in OPTIONS:
        TESTS.append("new:{}".format(time.monotonic()))
    if "stuck" in OPTIONS:
        signal.pause()
    server = Connection("server")
    if "nonsense" in OPTIONS:
        server.socket.sendall(struct.pack(">I", 4) + b"oops")
        signal.pause()
    if "failed" in OPTIONS:
        server.say("failed", what="told to fail", text="the whole story")
        return
    tests = [dict(id=test, **{"class": "c"}, file="f") for test in TESTS]
    server.say("collected", tests=tests, errors=[{"where": "x", "text": "y"}],
               fork=OPTIONS.get("unsafe"), rootdir=os.getcwd(), runner="fake 1", plugins=[])
    children = {}
    import select
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    while True:
        ready, _, _ = select.select([server.socket, wake], [], [])
        if server.socket in ready:
            message = server.hear()
            if message is None or "stop" in message:
                for child in children:
                    os.killpg(child, signal.SIGKILL)
                return
            if message["run"].get("in_place"):
                server.say("forked", run=message["run"]["run"], pid=os.getpid())
                run(message["run"])
            fork(message["run"], server, children)
        if wake in ready:
            os.read(wake, 512)
        for child in list(children):
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                os.killpg(child, signal.SIGKILL)
                status = os.waitpid(child, 0)[1]
                how = {"signal": os.WTERMSIG(status)} if os.WIFSIGNALED(status) else {
                    "code": os.WEXITSTATUS(status)}
                request = children.pop(child)
                with open(os.path.join(request["scratch"], "errors.txt")) as errors:
                    how["stderr"] = errors.read()[-1000:]
                server.say("exited", run=request["run"], **how)


main()
