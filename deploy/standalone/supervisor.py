"""A process supervisor in the foreground: starts the parts in order, restarts them, ends all of them.

Processes end on three levels: the supervisor ends its parts and their groups; the kernel ends each part when the
supervisor dies (:mod:`deploy.standalone.launch`); the watchdog ends the remaining processes.
"""

import contextlib
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import FrameType, TracebackType
from typing import Literal, Self

from deploy.standalone import watchdog
from deploy.standalone.child_process import Child, ChildProcess, RestartPolicy, describe_exit, execute
from deploy.standalone.log import RUNNER, Log
from deploy.standalone.preload import PreloadedProcess
from scorer.errors import Unavailable

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
CHECK_SECONDS = 1.0
READY_SECONDS = 0.02  # pause between two readiness checks
SAME_INTERRUPT_SECONDS = 0.3  # a second signal within this time is the same Ctrl-C


class Watchdog:
    """The runner's end of the pipe to :mod:`deploy.standalone.watchdog`.

    ``hold`` are file descriptors that stay open until the last process is gone.
    """

    def __init__(self, hold: Sequence[int]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=hold,
            start_new_session=True,
            text=True,
        )
        self._lock = threading.Lock()

    def send_line(self, message: str) -> None:
        """Send one line. A killed watchdog is ignored: the kernel still ends the parts."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - asked for above
        with self._lock, contextlib.suppress(BrokenPipeError):
            print(message, file=pipe, flush=True)

    def close(self) -> None:
        """Close the pipe, which ends the watchdog, and wait for its end."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=2 * watchdog.GRACE_SECONDS)


class SupervisedChild:
    """A child with its current process, its restarts and the outcome of its first start."""

    def __init__(self, child: Child, restarts: RestartPolicy) -> None:
        self.child = child
        self.restarts = restarts
        self.running: ChildProcess | None = None
        self._outcome: Literal["ready", "failed"] | None = None
        self._lock = threading.Lock()

    def set_outcome(self, outcome: Literal["ready", "failed"]) -> bool:
        """Set the outcome of the first start, unless it is set; returns whether it is ``outcome`` now."""
        with self._lock:
            self._outcome = self._outcome or outcome
            return self._outcome == outcome


class Supervisor:
    """Runs children; a context manager that ends all of their processes on exit.

    ``log`` receives their lines. With ``signals`` (main thread only) the first Ctrl-C, SIGTERM or SIGHUP raises
    KeyboardInterrupt in the main thread, so that the block unwinds and all parts stop in order; a second Ctrl-C kills
    them. ``hold``: file descriptors (the data folder's lock) that stay open until the last process is gone, even if
    this one is killed. ``first_delay``: seconds before the first restart of a crashed part.
    """

    def __init__(self, log: Log, *, signals: bool = False, hold: Sequence[int] = (), first_delay: float = 0.5) -> None:
        self.failure: str | None = None  # why all parts were ended, if that was not requested
        self.log = log
        self._signals = signals
        self._hold = hold
        self._first_delay = first_delay
        self._parts: list[SupervisedChild] = []
        self._watchers: list[threading.Thread] = []
        self._preloaded: PreloadedProcess | None = None
        self._stopping = threading.Event()
        self._interrupted_at: float | None = None
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        # Starting and stopping happen in one separate thread. The kernel's death signal is bound to the thread
        # that forked, so it must live as long as the parts; and Ctrl-C does not interrupt it.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="supervisor")
        self._watchdog = Watchdog(self._hold)
        for signum in STOP_SIGNALS if self._signals else ():
            under_nohup = signum == signal.SIGHUP and signal.getsignal(signum) == signal.SIG_IGN
            if not under_nohup:
                self._handlers[signum] = signal.signal(signum, self._interrupt)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        for watcher in self._watchers:
            watcher.join(timeout=10.0)  # with a limit: a process may hang in the kernel
        self._spawner.shutdown()
        self._watchdog.close()
        for signum, handler in self._handlers.items():
            signal.signal(signum, handler)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of handlers
        now = time.monotonic()
        if self._interrupted_at is None:
            self._interrupted_at = now
            if not self._stopping.is_set():
                raise KeyboardInterrupt
        # Don't kill on SIGTERM, or on the same Ctrl-C: `make` may forward a signal that also reached us.
        elif signum == signal.SIGINT and now - self._interrupted_at > SAME_INTERRUPT_SECONDS:
            for part in self._parts:
                if part.running is not None:
                    part.running.kill()

    def _is_ending(self) -> bool:
        # An interrupted block may still be unwinding: a part that ends from now on has not crashed.
        return self._stopping.is_set() or self._interrupted_at is not None

    def preload(self, child: Child) -> None:
        """Start the process from which parts are forked, unless it runs. It loads its modules while other parts
        start.
        """
        if self._preloaded is None and sys.platform == "linux":
            self._spawner.submit(self._begin_preload, child).result()

    def _begin_preload(self, child: Child) -> None:
        self._preloaded = PreloadedProcess(child, self.log)
        self._watchdog.send_line(f"+ {self._preloaded.process.pid} {child.stop_signal.value}")

    def end_preload(self) -> None:
        self._spawner.submit(self._end_preload).result()

    def _end_preload(self) -> None:
        if self._preloaded is not None:
            self._preloaded.close()
            self._watchdog.send_line(f"- {self._preloaded.process.pid}")
            self._preloaded = None

    def start(self, *children: Child) -> None:
        """Start parts and return when all of them are ready.

        Raises Unavailable if one ends first, or is not ready within its timeout; the block must then end.
        """
        parts = [SupervisedChild(child, RestartPolicy(self._first_delay)) for child in children]
        for part in parts:
            self._spawner.submit(self._spawn, part).result()
        while parts:
            parts = [part for part in parts if not self._is_ready(part)]
            if parts:
                time.sleep(READY_SECONDS)

    def _is_ready(self, part: SupervisedChild) -> bool:
        """Whether a part has become ready; raises ``Unavailable`` if it cannot."""
        child, running = part.child, part.running
        if running is None:
            raise Unavailable("stopping", self.failure or f"{child.name} was not started: Kennel is stopping.")
        if running.ended.is_set():
            part.set_outcome("failed")
            raise self._never_ready(running, f"{child.name} {describe_exit(running.status)} before it was ready")
        if (child.ready is None or child.ready()) and part.set_outcome("ready"):
            return True
        if time.monotonic() > running.started_at + child.ready_timeout:
            part.set_outcome("failed")
            raise self._never_ready(running, f"{child.name} was not ready within {child.ready_timeout:g} s")
        return False

    def _never_ready(self, running: ChildProcess, sentence: str) -> Unavailable:
        lines = running.last_lines()
        if self.failure is not None:
            sentence = self.failure
        elif lines:
            sentence += f"; its last line: {lines[-1]}"
        return Unavailable("part-failed", sentence, faults=lines)

    def _spawn(self, part: SupervisedChild) -> None:
        if self._is_ending():
            return
        first = part.running is None
        try:
            fork = self._preloaded.fork if self._preloaded is not None and part.child.preloaded else execute
            running = part.running = ChildProcess(part.child, self.log, fork)
        except OSError as error:
            raise Unavailable("part-failed", f"{part.child.name} could not be started: {error}.") from None
        self._watchdog.send_line(f"+ {running.pid} {part.child.stop_signal.value}")
        if first:
            self._parts.append(part)
            watcher = threading.Thread(target=self._watch, args=[part, running], daemon=True)
            self._watchers.append(watcher)
            watcher.start()

    def _watch(self, part: SupervisedChild, running: ChildProcess) -> None:
        """Restart one part after each crash, or stop all parts if it may not be restarted; runs in a thread."""
        while True:
            running.wait()
            self._watchdog.send_line(f"- {running.pid}")
            if self._is_ending() or part.set_outcome("failed"):
                return  # it was stopped, or start() raises
            what = f"{part.child.name} {describe_exit(running.status)}"
            if not part.child.restart:
                self.failure = self.failure or f"{what}, and Kennel cannot continue without it."
                self.log.line(RUNNER, self.failure)
                self.stop()
                return
            restarted = self._restart(part, running, what)
            if restarted is None:
                return
            running = restarted

    def _restart(self, part: SupervisedChild, crashed: ChildProcess, what: str) -> ChildProcess | None:
        """Start a crashed part again, repeatedly if necessary; None if stopping has begun."""
        ran = time.monotonic() - crashed.started_at
        while True:
            delay = part.restarts.delay(ran)
            self.log.line(RUNNER, f"{what.rstrip('.')}; restarting it in {delay:g} s.")
            if self._stopping.wait(delay):
                return None
            try:
                self._spawner.submit(self._spawn, part).result()
            except Unavailable as error:  # for example, too many processes
                what, ran = error.message, 0.0
                continue
            return part.running if part.running is not crashed else None

    def run(self, children: Iterable[Child] = (), *, check: Callable[[], object] = lambda: None) -> int:
        """Start ``children`` in order, then block until a stop is requested (0) or a crash ends all parts (1).
        ``check`` is called every second; if it raises ``Unavailable``, all parts end.
        """
        try:
            for child in children:
                self.start(child)
            while not self._stopping.wait(CHECK_SECONDS):
                check()
        except KeyboardInterrupt:
            self.log.line(RUNNER, "stopping (press Ctrl-C again to kill).")
        except Unavailable as error:
            self.failure = error.message
            self.log.line(RUNNER, self.failure)
        self.stop()
        return 0 if self.failure is None else 1

    def stop(self) -> None:
        """Stop all parts one after the other, the last started first. Can be called from any thread, repeatedly."""
        self._stopping.set()
        if (preloaded := self._preloaded) is not None:
            preloaded.process.kill()  # no part waits for its modules
        self._spawner.submit(self._stop_parts).result()

    def _stop_parts(self) -> None:
        self._end_preload()
        for part in reversed(self._parts):
            running = part.running
            if running is not None and not running.ended.is_set() and not running.stop():
                seconds = part.child.stop_timeout
                self.log.line(RUNNER, f"{part.child.name} did not stop within {seconds:g} s and was killed.")
