# SPDX-License-Identifier: BSD-3-Clause
"""
lab - a small world of network namespaces for the smoke tests: hosts, cables, and a leaf.

A test program ends with `lab.run(globals())`. That starts the program again inside user, network,
mount and process namespaces of its own (no root needed), so that nothing it does can be seen
outside and nothing survives it, whatever happens; then it runs every function whose name begins
with `test_`, in the order they are written, and reports in TAP. The first line of a function's
docstring is the name of the test. A function may raise Skip.

The leaf runs in the world's own network namespace, every host in one of its own, joined to the leaf
by a veth pair: `h1` at the leaf's end, `eth0` at the host's. Frames are sent and read with packet
sockets, so that every byte is seen, VLAN tags included.

Nothing here sleeps for a fixed time to let something happen: it waits for a condition, with a limit.

Environment: ROCELEAF, ROCELEAFCTL: the programs (meson sets them).
"""

import ctypes
import errno
import json
import logging
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

# It warns of interfaces without an address, as soon as it is imported.
logging.getLogger("scapy").setLevel(logging.ERROR)

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_IGNORE_OUTGOING = 23
ETH_P_ALL = 3
INSIDE = "ROCELEAF_SMOKE_INSIDE"
WAIT_S = 10  # far more than anything needs; reaching it is a failure

# Sanitizer and emulated builds are slower; meson's timeout multiplier does not reach us.
SLOW = float(os.environ.get("ROCELEAF_TEST_SLOW", "1"))


class Skip(Exception):
    """The machine can't run this test; the text says why."""


class Failure(Exception):
    """The test has seen what must not be."""


def check(condition, text):
    """Fail with a text unless a condition holds."""
    if not condition:
        raise Failure(text)


def check_equal(got, wanted, what):
    if got != wanted:
        raise Failure(f"{what}: {got!r}, must be {wanted!r}")


def wait_until(condition, what, timeout_s=WAIT_S):
    """The first true value of condition(), tried until the time is up."""
    deadline = time.monotonic() + timeout_s * SLOW
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Failure(f"not within {timeout_s * SLOW:g} s: {what}")
        time.sleep(0.02)


def program(variable, name):
    """Path of one of our programs."""
    path = os.environ.get(variable)
    if path is None:
        root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        path = os.path.join(root, "build", name)
    if not os.access(path, os.X_OK):
        raise Skip(f"{path} is not there (set {variable})")
    return path


def call(*command, timeout_s=WAIT_S, ok=True):
    """Run a command to its end; fail with what it said unless it succeeds."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=timeout_s * SLOW, check=False)
    if ok and done.returncode != 0:
        raise Failure(f"{' '.join(map(str, command))}: status {done.returncode}: "
                      f"{(done.stderr + done.stdout).strip()[-1000:]}")
    return done


# ---------------------------------------------------------------- hosts and frames


class Tap:
    """A packet socket on one interface: sends frames and reads what comes in, byte by byte."""

    def __init__(self, interface, namespace=None):
        self.socket = in_namespace(namespace, lambda: socket.socket(
            socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)))
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        # The kernel grants less (net.core.rmem_max): send no more than about 100 frames unread.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        in_namespace(namespace, lambda: self.socket.bind((interface, ETH_P_ALL)))

    def send(self, *frames):
        """Send frames (bytes, or scapy packets) in order."""
        for frame in frames:
            self.socket.send(bytes(frame))

    def read(self, timeout_s):
        """The next frame, or None when none comes in time. The kernel's tag goes back in."""
        if not select.select([self.socket], [], [], max(0, timeout_s))[0]:
            return None
        try:
            data, extra, _, _ = self.socket.recvmsg(65536, socket.CMSG_SPACE(20))
        except OSError as error:
            if error.errno != errno.ENETDOWN:
                raise
            return self.read(timeout_s)  # told once, after the interface was down
        for level, kind, value in extra:
            if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
                status, _, _, _, _, tci, tpid = struct.unpack("=IIIHHHH", value[:20])
                if status & 0x10:  # TP_STATUS_VLAN_VALID
                    tpid = tpid if status & 0x40 else 0x8100
                    data = data[:12] + struct.pack("!HH", tpid, tci) + data[12:]
        return data

    def drain(self):
        """Forget everything that has come in so far."""
        while self.read(0) is not None:
            pass

    def wait(self, wanted, what, timeout_s=WAIT_S):
        """The first frame that wanted(frame) accepts; fails when none comes in time."""
        deadline = time.monotonic() + timeout_s * SLOW
        while True:
            frame = self.read(deadline - time.monotonic())
            if frame is None:
                raise Failure(f"not within {timeout_s * SLOW:g} s: {what}")
            if wanted(frame):
                return frame

    def collect(self, wanted, count, what, timeout_s=WAIT_S):
        """The next `count` frames that wanted(frame) accepts."""
        return [self.wait(wanted, f"{what}: frame {n + 1} of {count}", timeout_s)
                for n in range(count)]

    def close(self):
        self.socket.close()


def in_namespace(pid, action):
    """Do something in the network namespace of a process, then come back."""
    if pid is None:
        return action()
    with open("/proc/self/ns/net", "rb") as here, open(f"/proc/{pid}/ns/net", "rb") as there:
        if LIBC.setns(there.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "setns")
        try:
            return action()
        finally:
            if LIBC.setns(here.fileno(), CLONE_NEWNET) != 0:
                raise SystemExit("can't return to the leaf's namespace")


class Space:
    """A network namespace: of a host, a router, or a leaf that doesn't run in the world's own."""

    def __init__(self, world, name):
        self.world, self.name = world, name
        # A process that only holds the namespace; it dies with us.
        self.keeper = subprocess.Popen(["unshare", "--net", "--kill-child", "sleep", "infinity"],
                                       stdin=subprocess.DEVNULL)
        world.processes.append(self.keeper)
        mine = os.readlink("/proc/self/ns/net")
        wait_until(lambda: os.readlink(f"/proc/{self.keeper.pid}/ns/net") != mine,
                   f"namespace of {name}")
        self.run("ip", "link", "set", "lo", "up")

    def enter(self, *command):
        """The command, made to run here."""
        return ["nsenter", f"--net=/proc/{self.keeper.pid}/ns/net", "--",
                *[str(word) for word in command]]

    def run(self, *command, **options):
        return call(*self.enter(*command), **options)

    def start(self, *command):
        """Start a command here that ends with the test at the latest."""
        return self.world.start(*self.enter(*command))

    def tap(self, interface="eth0"):
        tap = Tap(interface, self.keeper.pid)
        self.world.taps.append(tap)
        return tap


class Host(Space):
    """A machine on one port of the leaf."""

    def __init__(self, world, name, number, addresses=(), gateways=(), mtu=1500, offloads=True):
        super().__init__(world, name)
        self.mtu = mtu
        self.mac = f"02:00:00:00:01:{number:02x}"
        call("ip", "link", "add", name, "mtu", mtu, "type", "veth", "peer", "name", "eth0",
             "mtu", mtu, "address", self.mac, "netns", self.keeper.pid)
        call("sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=1")
        self.run("sysctl", "-qw", "net.ipv6.conf.all.accept_dad=0",
                 "net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.eth0.accept_dad=0",
                 "net.ipv6.conf.eth0.router_solicitations=0")
        if not offloads:
            self.offloads(False)
        self.run("ip", "link", "set", "eth0", "up")
        call("ip", "link", "set", name, "up")
        for address in addresses:
            self.run("ip", "address", "add", address, "dev", "eth0", "nodad")
        for gateway in gateways:
            self.run("ip", "route", "add", "default", "via", gateway)
        self.addresses = [address.split("/")[0] for address in addresses]

    def offloads(self, on):
        """Segmentation and checksum offload of this host's interface (of what it sends)."""
        state = "on" if on else "off"
        self.run("ethtool", "-K", "eth0", "tx", state, "tso", state, "gso", state, "gro", state)

    def ping(self, address, count=3, size=56, fragment=True):
        """Ping; fails unless every echo is answered."""
        self.run("ping", "-n", "-q", "-i", "0.02", "-c", count, "-w", 5, "-s", size,
                 *([] if fragment else ["-M", "do"]), address)

    def reachable(self, *addresses):
        """Those of the addresses that answer a ping within a second."""
        pings = {address: self.start("ping", "-n", "-q", "-c", 1, "-W", 1, address)
                 for address in addresses}
        return [address for address, ping in pings.items() if ping.wait(WAIT_S) == 0]

    def iperf(self, server, address, *options, seconds=2, port=5201):
        """Run iperf3 against another host; its result as JSON gives it."""
        listener = server.start("iperf3", "-s", "-1", "-p", port)
        wait_until(lambda: f":{port}" in server.run("ss", "-Hltn").stdout,
                   f"iperf3 of {server.name} listens")
        done = self.run("iperf3", "-J", "-c", address, "-p", port, "-t", seconds, *options,
                        timeout_s=seconds + WAIT_S)
        listener.wait(WAIT_S)
        return json.loads(done.stdout)["end"]


# ---------------------------------------------------------------- the leaf


class Leaf:
    """The daemon, in the world's own namespace or in one that it is given."""

    def __init__(self, world, config, name="leaf", space=None):
        self.world, self.space = world, space
        self.path = os.path.join(world.directory, f"{name}.yaml")
        self.log_path = os.path.join(world.directory, f"{name}.log")
        self.runtime = os.path.join(world.directory, f"run-{name}")
        self.process = None
        self.drops_at_start = {}
        self.write(config)

    def write(self, config):
        """
        Replace the configuration file. $RUNTIME in it becomes the runtime directory; with
        ROCELEAF_TEST_WORKERS=n in the environment the leaf has n workers.
        """
        workers = os.environ.get("ROCELEAF_TEST_WORKERS")
        if workers:
            config = config.replace("leaf: {", f"leaf: {{workers: {workers}, ", 1)
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(config.replace("$RUNTIME", self.runtime))

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def spawn(self):
        """Start the daemon, without waiting until it is ready."""
        command = [program("ROCELEAF", "roceleaf"), "-c", self.path]
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                command if self.space is None else self.space.enter(*command), stdout=log,
                stderr=log, stdin=subprocess.DEVNULL)
        self.world.processes.append(self.process)
        return self.process

    def start(self):
        """Start the daemon and wait until it answers."""
        self.spawn()

        def answers():
            if self.process.poll() is not None:
                raise Failure(f"roceleaf ended with status {self.process.returncode}:\n"
                              f"{self.log()[-3000:]}")
            return self.ctl("show", "ports", "--json", ok=False).returncode == 0

        wait_until(answers, "roceleaf answers roceleafctl", 20)
        wait_until(lambda: all(row["state"] == "up" for row in self.ports().values()),
                   "every port is up")
        # Hosts may have spoken while they had nobody to reach yet.
        self.drops_at_start = self.drops()
        return self

    def ctl(self, *words, ok=True):
        return call(program("ROCELEAFCTL", "roceleafctl"), "--runtime-dir", self.runtime,
                    *words, ok=ok)

    def show(self, what):
        """The JSON of `roceleafctl show WHAT`."""
        return json.loads(self.ctl("show", what, "--json").stdout)

    def drops(self):
        """{(port, reason): packets} since the start."""
        rows = json.loads(self.ctl("show", "drops", "--json", "--absolute").stdout)["drops"]
        return {(row["port"], row["reason"]): row["packets"] for row in rows}

    def dropped(self, *ports):
        """Packets dropped that came in at these ports: other hosts' kernels say things now and then."""
        return sum(packets for (port, _), packets in self.drops().items() if port in ports)

    def ports(self):
        """{port: its row}."""
        rows = json.loads(self.ctl("show", "ports", "--json", "--absolute").stdout)["ports"]
        return {row["port"]: row for row in rows}

    def events(self, kind):
        """Texts of the events of a type, oldest first."""
        return [row["text"] for row in self.show("events")["events"] if row["type"] == kind]

    def queues(self):
        """{(port, priority): its row}."""
        rows = json.loads(self.ctl("show", "queues", "--all", "--json", "--absolute").stdout)
        return {(row["port"], row["priority"]): row for row in rows["queues"]}

    def check_dropped(self, before, count, port, *reasons):
        """Exactly `count` frames of `port` were dropped since `before`, all for one of `reasons`."""

        def difference():
            return {key: value - before.get(key, 0) for key, value in self.drops().items()
                    if value != before.get(key, 0)}

        try:
            wait_until(lambda: sum(difference().values()) >= count, "")
        except Failure:
            pass
        check_equal(sum(difference().values()), count,
                    f"dropped frames (wanted: {port}, {' or '.join(reasons)}; {difference()})")
        for key in difference():
            check(key[0] == port and key[1] in reasons,
                  f"dropped as {key}, must be {port} and one of {reasons}")

    def check_conserved(self):
        """
        Every frame received is sent or counted as dropped; waits until it is quiet, or at least for a
        moment in which nothing happens.
        """

        def sums():
            ports = self.ports().values()
            queued = sum(row["depth_packets"] for row in self.queues().values())
            came = sum(row["rx_packets"] + row["copied"] for row in ports)
            went = sum(row["tx_packets"] + row["drop_packets"] for row in ports)
            seen.append((came, went, queued))
            return came == went and queued == 0

        seen = []
        try:
            wait_until(sums, "")
        except Failure:
            pass
        came, went, queued = seen[-1]
        check_equal((went, queued), (came, 0), "frames out and queued, and what came in")

    def stop(self):
        """SIGTERM; fails unless the daemon ends cleanly."""
        if self.process is None or self.process.poll() is not None:
            return
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(WAIT_S * SLOW)
        except subprocess.TimeoutExpired as error:
            raise Failure("roceleaf doesn't stop on SIGTERM") from error
        check_equal(status, 0, f"status of roceleaf after SIGTERM (log: {self.log()[-2000:]})")


class World:
    """Everything one test has made; `close` takes it away again."""

    open = []  # those not closed yet, for a test that failed while it made one

    def __init__(self):
        World.open.append(self)
        self.processes, self.taps, self.hosts = [], [], {}
        # Short: paths of Unix sockets end at 107 bytes.
        self.directory = tempfile.mkdtemp(prefix="roceleaf-", dir="/tmp")
        self.leaf = None
        self.others = []  # more leaves

    def host(self, name, **options):
        host = Host(self, name, len(self.hosts) + 1, **options)
        self.hosts[name] = host
        return host

    def start_leaf(self, config):
        self.leaf = Leaf(self, config)
        return self.leaf.start()

    def start_another(self, name, config, space=None):
        """Start one more leaf, on other ports; `name` tells its files from those of the others."""
        leaf = Leaf(self, config, name, space)
        self.others.append(leaf)
        return leaf.start()

    def start(self, *command):
        process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.processes.append(process)
        return process

    def close(self):
        World.open.remove(self)
        for tap in self.taps:
            tap.close()
        for process in reversed(self.processes):
            if process.poll() is None:
                process.kill()
            process.wait()
        for name in self.hosts:
            call("ip", "link", "delete", name, ok=False)
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        leaves = ([] if self.leaf is None else [self.leaf]) + self.others
        try:
            for leaf in leaves if kind is None else []:
                if leaf.process.poll() is None:
                    leaf.check_conserved()
                    leaf.stop()
        finally:
            for leaf in leaves if kind is not None else []:
                if os.path.exists(leaf.log_path):
                    print("\n".join("# " + line for line in leaf.log()[-4000:].splitlines()))
            self.close()


# ---------------------------------------------------------------- running

SHARED = {}


def shared(factory):
    """
    One world for several tests of a program: made when first asked for, made anew after a test has
    failed. The last test of such a program calls close_shared().
    """
    if factory not in SHARED:
        SHARED[factory] = factory()
    return SHARED[factory]


def close_shared():
    """Stop the leaves of all shared worlds; fails when one has lost a frame or doesn't stop."""
    while SHARED:
        with SHARED.popitem()[1]:
            pass


def enter_namespaces():
    """Start this program again in namespaces of its own; never returns."""
    command = ["unshare", "--user", "--map-root-user", "--net", "--mount", "--pid", "--fork",
               "--kill-child"]
    # A fresh /proc where the kernel allows it (not inside every container).
    if subprocess.run([*command, "--mount-proc", "true"], capture_output=True,
                      check=False).returncode == 0:
        command.append("--mount-proc")
    elif subprocess.run([*command, "true"], capture_output=True, check=False).returncode != 0:
        print("1..0 # SKIP unshare -Urnm is not allowed here (user namespaces are off?)")
        sys.exit(0)
    os.execvpe(command[0], [*command, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


def run(names):
    """Run the test functions of a program: see the top."""
    if INSIDE not in os.environ:
        enter_namespaces()
    call("ip", "link", "set", "lo", "up")
    tests = [value for name, value in names.items() if name.startswith("test_")]
    if len(sys.argv) > 1:
        tests = [test for test in tests if any(word in test.__name__ for word in sys.argv[1:])]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = (test.__doc__ or test.__name__).strip().splitlines()[0].rstrip(".")
        started = time.monotonic()
        try:
            test()
            verdict, extra = "ok", ""
        except Skip as skip:
            verdict, extra = "ok", f" # SKIP {skip}"
        except Exception as error:  # whatever it is: the test has failed
            text = str(error) if isinstance(error, Failure) else traceback.format_exc()
            print("\n".join("# " + line for line in text.splitlines()))
            verdict, extra, failed = "not ok", "", failed + 1
        if verdict == "not ok":
            SHARED.clear()
        for world in list(World.open):
            if world not in SHARED.values():
                world.close()
        print(f"{verdict} {number} - {name} ({time.monotonic() - started:.1f} s){extra}", flush=True)
    sys.exit(1 if failed else 0)
