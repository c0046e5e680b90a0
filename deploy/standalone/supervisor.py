"""One process tree in the foreground: starts the parts in order, ends all of them, leaves nothing.

Who ends whom: the supervisor its parts' processes and groups; the kernel each part when the
supervisor dies (:mod:`deploy.standalone.launch`); the guard whatever even that does not reach.
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
from deploy.standalone.child_process import Child, ChildProcess, RestartPolicy, describe_exit
from deploy.standalone.log import Log
from scorer.errors import Unavailable

RUNNER = "kennel"  # the supervisor's own name in the log
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
SAME_INTERRUPT_SECONDS = 0.3  # seconds


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

    def tell(self, message: str) -> None:
        """Send one line; a guard that was killed is not worth more than that: the kernel still ends parts."""
        pipe = self._process.stdin
        assert pipe is not None  # noqa: S101 - asked for above
        with self._lock, contextlib.suppress(BrokenPipeError):
            print(message, file=pipe, flush=True)

    def close(self) -> None:
        """Let it go, and wait until it went."""
        with contextlib.suppress(BrokenPipeError):
            self._process.communicate(timeout=2 * watchdog.GRACE_SECONDS)


class SupervisedChild:
    """A child with its present process and its history; the supervisor's bookkeeping."""

    def __init__(self, child: Child, restarts: RestartPolicy) -> None:
        self.child, self.restarts = child, restarts
        self.running: ChildProcess | None = None
        self._outcome: Literal["ready", "failed"] | None = None
        self._lock = threading.Lock()

    def settle(self, outcome: Literal["ready", "failed"]) -> bool:
        """Whether the first start ended in ``outcome``: the first to say so decides."""
        with self._lock:
            self._outcome = self._outcome or outcome
            return self._outcome == outcome


class Supervisor:
    """Runs children; a context manager, on whose exit nothing of them is left.

    ``log`` receives their lines. With ``signals`` (main thread only) the first Ctrl-C, SIGTERM or
    SIGHUP raises KeyboardInterrupt in the main thread, so that the block unwinds and all parts end in
    good order; a second Ctrl-C kills them. ``hold``: file descriptors (the data folder's lock) that stay
    open until the last process is gone, even if this one is killed. ``first_delay``: seconds before
    the first restart of a crashed part.
    """

    def __init__(self, log: Log, *, signals: bool = False, hold: Sequence[int] = (), first_delay: float = 0.5) -> None:
        self.failure: str | None = None  # the sentence that says why all was ended, unless it was asked for
        self._log, self._signals, self._hold, self._first_delay = log, signals, hold, first_delay
        self._parts: list[SupervisedChild] = []
        self._watchers: list[threading.Thread] = []
        self._stopping = threading.Event()
        self._interrupted_at: float | None = None
        self._handlers: dict[signal.Signals, Callable[[int, FrameType | None], object] | int | None] = {}

    def __enter__(self) -> Self:
        # Starting and stopping happen in one thread of their own. The kernel's death signal is bound to
        # the thread that forked, so that must live as long as the parts; and Ctrl-C cannot cut in there.
        self._spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="supervisor")
        self._guard = Watchdog(self._hold)
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
            watcher.join(timeout=10.0)  # not for ever: a process may hang in the kernel
        self._spawner.shutdown()
        self._guard.close()
        for signum, handler in self._handlers.items():
            signal.signal(signum, handler)

    def _interrupt(self, signum: int, frame: FrameType | None) -> None:  # noqa: ARG002 - the signature of handlers
        now = time.monotonic()
        if self._interrupted_at is None:
            self._interrupted_at = now
            if not self._stopping.is_set():
                raise KeyboardInterrupt
        # Not a SIGTERM, nor the same Ctrl-C once more: `make` may pass on what also reached us.
        elif signum == signal.SIGINT and now - self._interrupted_at > SAME_INTERRUPT_SECONDS:
            for part in self._parts:
                if part.running is not None:
                    part.running.kill()

    def _is_ending(self) -> bool:
        # An interrupted block may still be unwinding: whatever ends from now on was not a crash.
        return self._stopping.is_set() or self._interrupted_at is not None

    def start(self, child: Child) -> None:
        """Start a part and return when it is ready.

        Raises Unavailable when it ends before, or is not ready in its time; the block must then end.
        """
        part = SupervisedChild(child, RestartPolicy(self._first_delay))
        self._spawner.submit(self._spawn, part).result()
        running = part.running
        if running is None:
            raise Unavailable("stopping", self.failure or f"{child.name} was not started: Kennel is stopping.")
        until = time.monotonic() + child.ready_timeout
        while not running.ended.is_set():
            if (child.ready is None or child.ready()) and part.settle("ready"):
                return
            if time.monotonic() > until:
                part.settle("failed")
                raise self._never_ready(running, f"{child.name} was not ready in {child.ready_timeout:g} s")
            running.ended.wait(0.02)
        part.settle("failed")
        raise self._never_ready(running, f"{child.name} {describe_exit(running.status)} before it was ready")

    def _never_ready(self, running: ChildProcess, sentence: str) -> Unavailable:
        lines = running.last_words()
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
            running = part.running = ChildProcess(part.child, self._log)
        except OSError as error:
            raise Unavailable("part-failed", f"{part.child.name} could not be started: {error}.") from None
        self._guard.tell(f"+ {running.pid} {part.child.stop_signal.value}")
        if first:
            self._parts.append(part)
            watcher = threading.Thread(target=self._watch, args=[part, running], daemon=True)
            self._watchers.append(watcher)
            watcher.start()

    def _watch(self, part: SupervisedChild, running: ChildProcess) -> None:
        """See to one part's ends, in a thread, for as long as it is restarted."""
        while True:
            running.wait()
            self._guard.tell(f"- {running.pid}")
            if self._is_ending() or part.settle("failed"):
                return  # it was asked to, or start() tells
            delay = self._after_crash(part, f"{part.child.name} {describe_exit(running.status)}")
            if delay is None:
                self.stop()
                return
            if self._stopping.wait(delay):
                return
            try:
                self._spawner.submit(self._spawn, part).result()
            except Unavailable as error:
                self._give_up(error.message)
                self.stop()
                return
            if part.running is None or part.running is running:
                return  # a stop came first
            running = part.running

    def _after_crash(self, part: SupervisedChild, what: str) -> float | None:
        """Seconds until the restart of a part that crashed, or None: all must end. Tells which."""
        if not part.child.restart:
            self._give_up(f"{what}, and Kennel cannot go on without it.")
            return None
        delay = part.restarts.delay(time.monotonic())
        if delay is None:
            crashes = part.restarts.limit + 1
            self._give_up(f"{what}, for the {crashes}th time within {part.restarts.window:g} s: giving up.")
        else:
            self._log.line(RUNNER, f"{what}; starting it again in {delay:g} s.")
        return delay

    def _give_up(self, sentence: str) -> None:
        self.failure = self.failure or sentence
        self._log.line(RUNNER, sentence)

    def run(self, children: Iterable[Child] = ()) -> int:
        """Start ``children`` in order, then block until a stop is asked for (0) or a crash ends all (1)."""
        try:
            for child in children:
                self.start(child)
            self._stopping.wait()
        except KeyboardInterrupt:
            self._log.line(RUNNER, "stopping (once more to kill).")
        self.stop()
        return 0 if self.failure is None else 1

    def stop(self) -> None:
        """End all parts, the last started first, each before the next; from any thread, any times."""
        self._stopping.set()
        self._spawner.submit(self._stop_parts).result()

    def _stop_parts(self) -> None:
        for part in reversed(self._parts):
            running = part.running
            if running is not None and not running.ended.is_set() and not running.stop():
                seconds = part.child.stop_timeout
                self._log.line(RUNNER, f"{part.child.name} did not stop within {seconds:g} s and was forced to.")
