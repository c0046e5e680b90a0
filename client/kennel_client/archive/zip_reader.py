"""Reads the members of a checked listing in few large reads, unpacks them and maps a function over them in threads."""

import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, TypeVar

from kennel_client.archive.central_directory import DEFLATED, LOCAL_HEADER_BYTES, Member, read_at
from kennel_client.archive.faults import MemberError

WINDOW_BYTES = 4 << 20  # per read: 18 reads for 10,000 images of 64 x 64
MAX_EXTRA_BYTES = 0xFFFF
_LOCAL = struct.Struct("<4s5H3L2H")

Item = TypeVar("Item")
Result = TypeVar("Result")
MemberProgress = Callable[[int, int], None]
Record = tuple[int, bytes]  # index of the member, its bytes in the zip starting with its local header


def map_members(
    file: BinaryIO,
    members: Sequence[Member],
    work: Callable[[int, bytes], Result],
    *,
    progress: MemberProgress | None = None,
) -> Iterator[tuple[int, Result | MemberError]]:
    """Yield (index, ``work(index, unpacked bytes)``) for every member, in any order.

    ``index`` counts in ``members``; a ``MemberError`` from unpacking or ``work`` replaces the result. ``work`` runs in
    threads, because decoders release the interpreter's lock. Calls ``progress(done, total)`` now and then.
    """

    def outcomes(records: Sequence[Record]) -> list[tuple[int, Result | MemberError]]:
        return [(index, _outcome(members[index], index, record, work=work)) for index, record in records]

    return map_windows(file, members, outcomes, threads=min(4, os.cpu_count() or 1), progress=progress)


def map_windows(
    file: BinaryIO,
    members: Sequence[Member],
    outcomes: Callable[[Sequence[Record]], list[tuple[int, Result | MemberError]]],
    *,
    threads: int,
    progress: MemberProgress | None = None,
) -> Iterator[tuple[int, Result | MemberError]]:
    """Yield what ``outcomes`` returns for the records of each window.

    ``outcomes`` runs in threads; only the caller's thread reads the file, at most one window ahead of the threads.
    Calls ``progress(done, total)`` after each window.
    """
    done = 0
    with ThreadPoolExecutor(threads) as pool:
        for finished in _bounded_map(pool, outcomes, _windows(file, members), ahead=threads + 1):
            yield from finished
            done += len(finished)
            if progress is not None:
                progress(done, len(members))


def unpack(member: Member, record: bytes) -> bytes:
    """Unpack a member from its bytes in the zip, and check length and CRC against the directory.

    Never unpacks more than one byte beyond ``member.size``. Raises ``MemberError``.
    """
    return inflate(packed(member, record), member.method, member.size, crc=member.crc)


def inflate(data: bytes, method: int, size: int, *, crc: int) -> bytes:
    """Unpack a member's compressed bytes; see :func:`unpack`."""
    if method == DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflater.decompress(data, size + 1)
        except zlib.error:
            raise MemberError("can't be unpacked: its compressed data is damaged") from None
        if len(content) <= size and not inflater.eof:
            raise MemberError("can't be unpacked: its compressed data is cut short")
    else:
        content = data
    if len(content) != size:
        longer = "longer" if len(content) > size else "shorter"
        raise MemberError(f"is {longer} than the {size:,} bytes the zip declares for it")
    if zlib.crc32(content) != crc:
        raise MemberError("does not match its checksum: the zip is damaged")
    return content


def _outcome(
    member: Member, index: int, record: bytes, *, work: Callable[[int, bytes], Result]
) -> Result | MemberError:
    try:
        return work(index, unpack(member, record))
    except MemberError as error:
        return error


def packed(member: Member, record: bytes) -> bytes:
    """The compressed bytes after the local header, which must name the same member as the directory.

    Raises ``MemberError``.
    """
    if len(record) < _LOCAL.size or not record.startswith(b"PK\3\4"):
        raise MemberError("is not at the position in the zip's directory")
    *_, name_bytes, extra_bytes = _LOCAL.unpack_from(record)
    if record[_LOCAL.size : _LOCAL.size + name_bytes] != member.raw_name:
        raise MemberError("has another name in the zip's directory than in its own header")
    start = _LOCAL.size + name_bytes + extra_bytes
    data = record[start : start + member.compressed]
    if len(data) < member.compressed:
        raise MemberError("runs into the next part of the zip")
    return data


def _windows(file: BinaryIO, members: Sequence[Member]) -> Iterator[list[Record]]:
    """Runs of neighbouring members in file order, each run from one read."""
    order = sorted(range(len(members)), key=lambda index: members[index].offset)
    run: list[int] = []
    for index in order:
        if run and not _fits(members[run[0]], members[run[-1]], members[index]):
            yield _read_run(file, members, run)
            run = []
        run.append(index)
    if run:
        yield _read_run(file, members, run)


def _stop(member: Member) -> int:
    """The latest possible end of the member; without this bound, a gap before the next member would also be read."""
    max_bytes = LOCAL_HEADER_BYTES + len(member.raw_name) + MAX_EXTRA_BYTES + member.compressed
    return min(member.limit, member.offset + max_bytes)


def _fits(first: Member, last: Member, following: Member) -> bool:
    """Whether ``following`` can join the run: it starts close behind it, and the window is not full."""
    close = following.offset - _stop(last) <= MAX_EXTRA_BYTES
    return close and _stop(following) - first.offset <= WINDOW_BYTES


def _read_run(file: BinaryIO, members: Sequence[Member], run: Sequence[int]) -> list[Record]:
    start = members[run[0]].offset
    data = read_at(file, start, _stop(members[run[-1]]) - start)
    return [(index, data[members[index].offset - start : _stop(members[index]) - start]) for index in run]


def _bounded_map(
    pool: ThreadPoolExecutor, work: Callable[[Item], Result], items: Iterator[Item], *, ahead: int
) -> Iterator[Result]:
    """``map`` in the pool, in order, with at most ``ahead`` items waiting; ``pool.map`` would submit all of them."""
    waiting: deque[Future[Result]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) >= ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
