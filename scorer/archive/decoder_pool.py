"""The images of an entry or of a reference set, decoded by limited processes. A fault in one of them affects no other
entry and no worker.

A process that ends, or is silent for too long, is replaced, and its images are decoded one by one, which identifies the
image that ended it. Processes are started for one upload and end with it. Their answers are not trusted: texts are cut
and cleaned, and pixels are copied before they are hashed.
"""

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, BinaryIO, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from kennel_client.archive.central_directory import Member
from kennel_client.archive.faults import MAX_FAULTS_LISTED, MemberError, printable_name
from kennel_client.archive.zip_reader import WINDOW_BYTES, MemberProgress, Record, map_members, map_windows, packed
from scorer.archive.decoder_process import to_arguments
from scorer.archive.png_pixels import decode_png
from scorer.archive.reference_image import decode_reference
from scorer.archive.shared_window import PackedImage, SharedWindow, WindowShape, new_memory
from scorer.confinement.fork_server import start_process
from scorer.process_resources import usable_cores

MAX_PROCESSES = 4
PIXEL_BYTES = 8 << 20
"""The pixels that a process decodes before it answers: at most this many are copied out of its memory at a time."""
MAX_REFERENCES = 16
"""The reference images that it decodes before it answers: each may have millions of pixels before it is resized."""
START_SECONDS, WINDOW_SECONDS, IMAGE_SECONDS = 120.0, 60.0, 20.0
"""The time limits for a process to start, for a window, and for one image: hundreds of times the time needed."""
MAX_ANSWER_BYTES = 1 << 20
_MODULE = "scorer.archive.decoder_process"


Result = TypeVar("Result")


def choose_process_count(setting: int | None) -> int:
    """The number of limited processes for the operator's setting. None means one per core, at most ``MAX_PROCESSES``,
    and 0 (threads instead) on systems without Linux's means to limit a process."""
    if setting is not None:
        return setting
    return min(MAX_PROCESSES, usable_cores()) if sys.platform == "linux" else 0


def map_pixels(
    file: BinaryIO,
    members: Sequence[Member],
    receive: Callable[[int, NDArray[Any]], Result],
    *,
    size: int,
    processes: int,
    of_references: bool = False,
    progress: MemberProgress | None = None,
) -> Iterator[tuple[int, Result | MemberError]]:
    """``receive(index, pixels)`` for every image among ``members``, as (index, result), in no particular order. If
    something is wrong with an image, its result is a ``MemberError``.

    Pixels are (size, size, 3) uint8, or float32 in [0, 255] for a reference that was resized, and stay unchanged until
    ``receive`` returns. They are decoded by ``processes`` limited processes; with 0, in threads of this process.
    """
    if processes == 0:
        decode = decode_reference if of_references else decode_png
        yield from map_members(
            file, members, lambda index, content: receive(index, decode(content, size)), progress=progress
        )
        return
    with DecoderPool(members, _window_shape(size, members, of_references=of_references), receive) as pool:
        yield from map_windows(file, members, pool.outcomes, threads=processes, progress=progress)


def _window_shape(size: int, members: Sequence[Member], *, of_references: bool) -> WindowShape:
    largest = max(member.compressed for member in members)
    one = WindowShape(size, 1, max(WINDOW_BYTES, largest), of_references)
    slots = min(len(members), PIXEL_BYTES // one.image_bytes, *([MAX_REFERENCES] if of_references else []))
    return replace(one, slots=max(1, slots))


class _Ended(Exception):
    """A process has ended or is silent; the text ends a sentence about the image that it was decoding."""


class DecoderPool(Generic[Result]):
    """Decodes the records of ``members`` in limited processes, one for each thread that calls :meth:`outcomes`.
    ``receive`` is that of :func:`map_pixels`."""

    def __init__(
        self, members: Sequence[Member], shape: WindowShape, receive: Callable[[int, NDArray[Any]], Result]
    ) -> None:
        self._shape = shape
        self._members = members
        self._receive = receive
        self._idle: SimpleQueue[_Process] = SimpleQueue()
        self._ended_by = 0

    def __enter__(self) -> "DecoderPool[Result]":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while not self._idle.empty():
            self._idle.get().close()

    def outcomes(self, records: Sequence[Record]) -> list[tuple[int, Result | MemberError]]:
        """For each record its index, and the result of ``receive`` or its fault. Stops when the number of images that
        have ended a process reaches the number that is listed by name."""
        found: list[tuple[int, Result | MemberError]] = []
        readable: list[tuple[int, PackedImage]] = []
        for index, record in records:
            member = self._members[index]
            try:
                readable.append((index, (packed(member, record), member.method, member.size, member.crc)))
            except MemberError as error:
                found.append((index, error))
        for start in range(0, len(readable), self._shape.slots):
            found += self._decode(readable[start : start + self._shape.slots])
        return found

    def _decode(self, images: Sequence[tuple[int, PackedImage]]) -> list[tuple[int, Result | MemberError]]:
        try:
            return self._attempt(images, WINDOW_SECONDS)
        except _Ended:
            return [outcome for image in images for outcome in self._decode_alone(image)]

    def _decode_alone(self, image: tuple[int, PackedImage]) -> list[tuple[int, Result | MemberError]]:
        """Decode an image of a window that ended its process."""
        if self._ended_by >= MAX_FAULTS_LISTED:
            return []
        try:
            return self._attempt([image], IMAGE_SECONDS)
        except _Ended as error:
            self._ended_by += 1
            return [(image[0], MemberError(str(error)))]

    def _attempt(
        self, images: Sequence[tuple[int, PackedImage]], seconds: float
    ) -> list[tuple[int, Result | MemberError]]:
        try:
            process = self._idle.get_nowait()
        except Empty:
            process = _Process(self._shape)
        try:
            faults, resized = process.decode([image for _, image in images], seconds)
            found = [
                (index, MemberError(faults[slot]) if slot in faults else self._receive(index, pixels))
                for slot, (index, _) in enumerate(images)
                for pixels in [_clip_pixels(process.pixels[slot], resized=slot in resized)]
            ]
        except BaseException:
            process.close()
            raise
        self._idle.put(process)
        return found


class _Process:
    def __init__(self, shape: WindowShape) -> None:
        descriptor = new_memory(shape)
        self._connection, other = socket.socketpair()
        with other, open(os.memfd_create("kennel-errors", os.MFD_CLOEXEC), "r+b") as errors:  # noqa: PTH123
            try:
                self._window = SharedWindow(shape, descriptor)
                files = [other.fileno(), other.fileno(), errors.fileno(), descriptor]
                self._process = start_process(_MODULE, to_arguments(shape), files)
            except BaseException:
                self._connection.close()
                raise
            finally:
                os.close(descriptor)
            other.close()  # closes the connection when the process ends
            self.pixels = self._window.pixels
            try:
                self._answer(START_SECONDS)
            except _Ended as error:  # no byte of the upload has reached it
                self.close()
                errors.seek(0)
                output = errors.read()[-2000:]
                raise RuntimeError(f"a decoding process did not start: it {error}: {output!r}") from None

    def decode(self, images: Sequence[PackedImage], seconds: float) -> tuple[dict[int, str], set[int]]:
        """Decode images into :attr:`pixels`. Returns the faults by slot, and the slots of images that were resized.
        ``_Ended`` if there is no answer in time."""
        self._window.put(images)
        try:
            self._connection.sendall(b"%d\n" % len(images))
        except ConnectionError:
            raise _Ended("ended the decoding process") from None
        return _parse_answer(self._answer(seconds), len(images))

    def close(self) -> None:
        self._process.close()
        self._connection.close()

    def _answer(self, seconds: float) -> bytes:
        """The next line of the process. ``_Ended`` if there is none in time, or it has no end."""
        deadline = time.monotonic() + seconds
        answer = b""
        while not answer.endswith(b"\n"):
            self._connection.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                read = self._connection.recv(MAX_ANSWER_BYTES)
            except TimeoutError:
                raise _Ended(f"took longer than {seconds:g} s to decode") from None
            except ConnectionError:
                read = b""
            answer += read
            if not read or len(answer) > MAX_ANSWER_BYTES:
                raise _Ended("ended the decoding process")
        return answer


def _clip_pixels(pixels: NDArray[Any], *, resized: bool) -> NDArray[Any]:
    """The image in a slot: uint8 for references that were not resized, otherwise clipped to the valid range."""
    if pixels.dtype == np.uint8:
        return pixels
    floats: NDArray[Any] = np.nan_to_num(pixels).clip(0, 255)
    return floats if resized else floats.astype(np.uint8)


def _parse_answer(answer: bytes, count: int) -> tuple[dict[int, str], set[int]]:
    """The faults in an answer by slot, and the slots that were resized; ``_Ended`` if it is not an answer."""
    try:
        fields = json.loads(answer)
        faults = {int(slot): printable_name(text) for slot, text in fields["faults"].items()}
        resized = {int(slot) for slot in fields["resized"]}
    except (ValueError, TypeError, AttributeError, LookupError, RecursionError):
        raise _Ended("ended the decoding process") from None
    if not faults.keys() | resized <= set(range(count)):
        raise _Ended("ended the decoding process")
    return faults, resized
