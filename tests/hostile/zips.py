"""Hostile zips: three images, some of them hostile, in a zip with up to three changes."""

import random
import struct
import zipfile
import zlib
from collections.abc import Callable

import numpy as np

from tests.hostile.input import Fate, HostileInput, combined
from tests.hostile.pngs import SIDE, hostile_png
from tests.pure.archive.broken_files import BrokenZipEntry, png, random_images, raw_zip

COUNT = 3
Entries = list[BrokenZipEntry]
Change = Callable[[Entries, random.Random], None]
NAMES = ("../{}", "/{}", "C:\\{}", "a/../../{}", "a/b/{}", "{}\0", "\u202e{}", "{}\n", "{}.exe", "")
UTF8 = 1 << 11
"""The flag of an entry whose name is UTF-8."""


def _renamed(entry: BrokenZipEntry, name: str) -> None:
    entry.name = name.encode()
    entry.flags |= UTF8


def _strange_name(entries: Entries, rng: random.Random) -> None:
    entry = rng.choice(entries)
    _renamed(entry, rng.choice(NAMES).format(entry.name.decode()))


def _same_name(entries: Entries, rng: random.Random) -> None:
    first, second = rng.sample(entries[:COUNT], 2)
    _renamed(first, "straße.png")
    _renamed(second, rng.choice(["straße.png", "STRASSE.PNG", "straße.PNG", "./straße.png"]))


def _same_form(entries: Entries, rng: random.Random) -> None:
    first, second = rng.sample(entries[:COUNT], 2)
    _renamed(first, "\u00e9.png")
    _renamed(second, rng.choice(["e\u0301.png", "E\u0301.PNG", "\u00c9.png"]))


def _encrypted(entries: Entries, rng: random.Random) -> None:
    entry = rng.choice(entries[:COUNT])
    if rng.random() < 0.3:
        entry.method = 99
    else:
        entry.flags |= rng.choice([1, 1 << 6, 1 << 13])


def _other_method(entries: Entries, rng: random.Random) -> None:
    rng.choice(entries[:COUNT]).method = rng.choice([1, 6, 9, 12, 14, 93, 95, 97, 65_535])


def _lying_size(entries: Entries, rng: random.Random) -> None:
    entry = rng.choice(entries[:COUNT])
    entry.size = rng.choice([0, 1, len(entry.content) - 1, len(entry.content) + 1, 2**31, 2**32 - 2])


def _lying_compressed(entries: Entries, rng: random.Random) -> None:
    entry = rng.choice(entries[:COUNT])
    entry.compressed = rng.choice([0, 1, len(entry.packed) + 1, len(entry.packed) + 10_000, 2**31])


def _overlap(entries: Entries, rng: random.Random) -> None:
    entries[rng.randrange(1, COUNT)].offset = rng.choice([0, 1, 5, 2**31])


def _overlapping_quine(entries: Entries, rng: random.Random) -> None:
    """Many entries over the same bytes (D. Fifield 2019)."""
    first = entries[0]
    entries.extend(
        BrokenZipEntry(f"{index}.png".encode(), first.content, offset=0) for index in range(rng.choice([10, 900]))
    )


def _bomb(entries: Entries, rng: random.Random) -> None:
    entry = rng.choice(entries[:COUNT])
    entry.content = bytes(rng.choice([200_000, 5_000_000]))
    entry.method = zipfile.ZIP_DEFLATED
    if rng.random() < 0.5:
        entry.size = 500


def _local_name(entries: Entries, rng: random.Random) -> None:
    rng.choice(entries[:COUNT]).local_name = rng.choice([b"other.png", b"", b"../x.png", b"a" * 60_000])


def _too_many(entries: Entries, rng: random.Random) -> None:
    count = rng.choice([1, 50, 3000])
    entries.extend(BrokenZipEntry(f"more-{index}.png".encode(), b"x") for index in range(count))


def _too_few(entries: Entries, rng: random.Random) -> None:
    del entries[rng.randrange(COUNT) :]


def _link(entries: Entries, rng: random.Random) -> None:
    """A symbolic link as Unix archivers store it, with its target as the content."""
    rng.choice(entries[:COUNT]).content = rng.choice([b"/etc/passwd", b"../../secrets.json", b"/proc/self/environ"])


def _disk(entries: Entries, rng: random.Random) -> None:
    rng.choice(entries).disk = rng.randint(1, 65_534)


def _junk(entries: Entries, _: random.Random) -> None:
    entries.append(BrokenZipEntry(b"__MACOSX/0.png", b"junk"))
    entries.append(BrokenZipEntry(b".DS_Store", b"junk"))


def _folder(entries: Entries, _: random.Random) -> None:
    for entry in entries[:COUNT]:
        entry.name = b"dogs/" + entry.name
    entries.append(BrokenZipEntry(b"dogs/", b""))


def _deflated(entries: Entries, _: random.Random) -> None:
    for entry in entries:
        entry.method = zipfile.ZIP_DEFLATED


def _zip64(entries: Entries, _: random.Random) -> None:
    for entry in entries:
        entry.zip64 = True


CHANGES: dict[str, tuple[Change, Fate]] = {
    "zip: unchanged": (lambda *_: None, Fate.ACCEPTED),
    "zip: operating-system files": (_junk, Fate.ACCEPTED),
    "zip: in a folder": (_folder, Fate.ACCEPTED),
    "zip: deflated": (_deflated, Fate.ACCEPTED),
    "zip: zip64": (_zip64, Fate.ACCEPTED),
    "zip: strange name": (_strange_name, Fate.REFUSED),
    "zip: same name but for case": (_same_name, Fate.REFUSED),
    "zip: same name but for Unicode form": (_same_form, Fate.REFUSED),
    "zip: encrypted": (_encrypted, Fate.REFUSED),
    "zip: other compression": (_other_method, Fate.REFUSED),
    "zip: false size": (_lying_size, Fate.REFUSED),
    "zip: false compressed size": (_lying_compressed, Fate.REFUSED),
    "zip: overlap": (_overlap, Fate.REFUSED),
    "zip: many members over the same bytes": (_overlapping_quine, Fate.REFUSED),
    "zip: bomb": (_bomb, Fate.REFUSED),
    "zip: different name in the local header": (_local_name, Fate.REFUSED),
    "zip: too many": (_too_many, Fate.REFUSED),
    "zip: too few": (_too_few, Fate.REFUSED),
    "zip: link": (_link, Fate.REFUSED),
    "zip: split across disks": (_disk, Fate.REFUSED),
}
"""By kind: the change to the entries, and the required outcome."""


def _bytes_flipped(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(rng.randint(1, 20)):
        damaged[rng.randrange(len(damaged))] = rng.randrange(256)
    return bytes(damaged)


def _lying_end(content: bytes, rng: random.Random) -> bytes:
    """Change the count, size or offset of the directory."""
    at, form = rng.choice([(10, "<H"), (12, "<L"), (16, "<L")])
    end = bytearray(content[-22:])
    (value,) = struct.unpack_from(form, end, at)
    struct.pack_into(form, end, at, (value + rng.randint(1, 60_000)) % 2 ** (8 * struct.calcsize(form)))
    return content[:-22] + bytes(end)


def _nested_zip64(content: bytes, rng: random.Random) -> bytes:
    """Add a zip64 locator that points to a wrong record."""
    locator = struct.pack(
        "<4sLQL", b"PK\6\7", 0, rng.choice([0, len(content), 2**63, 2**64 - 1]), rng.choice([0, 1, 2**32 - 1])
    )
    return content[:-22] + locator + content[-22:]


WHOLE: dict[str, tuple[Callable[[bytes, random.Random], bytes], Fate]] = {
    "zip: cut short": (lambda content, rng: content[: rng.randrange(max(1, len(content) - 22))], Fate.REFUSED),
    "zip: trailing data": (lambda content, rng: content + rng.randbytes(rng.randint(1, 3000)), Fate.REFUSED),
    "zip: leading data": (lambda content, rng: rng.randbytes(rng.randint(1, 3000)) + content, Fate.REFUSED),
    "zip: false end record": (_lying_end, Fate.REFUSED),
    "zip: false zip64 record": (_nested_zip64, Fate.REFUSED),
    "zip: bytes changed": (_bytes_flipped, Fate.EITHER),
    "zip: noise": (lambda _, rng: rng.randbytes(rng.randint(0, 4000)), Fate.REFUSED),
    "zip: another archive": (
        lambda _, rng: rng.choice([b"7z\xbc\xaf\x27\x1c", b"Rar!\x1a\x07", zlib.compress(b"x")]),
        Fate.REFUSED,
    ),
}
"""By kind: the change to the whole file, and the required outcome."""


def hostile_zip(seed: int) -> HostileInput:
    """The hostile zip of a seed. Its ``truth`` is the images (3, 8, 8, 3)."""
    rng = random.Random(seed)
    images = random_images(COUNT, SIDE, seed)
    kinds: list[str] = []
    fates: list[Fate] = []
    contents = [png(image) for image in images]
    if rng.random() < 0.5:
        index = rng.randrange(COUNT)
        kind, contents[index], fate = hostile_png(images[index], rng, harmless=rng.random() < 0.3)
        kinds.append(kind)
        fates.append(fate)
    entries = [BrokenZipEntry(f"{index}.png".encode(), content) for index, content in enumerate(contents)]
    if not kinds or rng.random() < 0.3:
        kind = rng.choice(list(CHANGES))
        CHANGES[kind][0](entries, rng)
        kinds.append(kind)
        fates.append(CHANGES[kind][1])
    changes_whole = rng.random() < 0.2
    whole = raw_zip(entries, zip64=not changes_whole and rng.random() < 0.2).getvalue()
    if changes_whole:
        kind = rng.choice(list(WHOLE))
        whole = WHOLE[kind][0](whole, rng)
        kinds.append(kind)
        fates.append(WHOLE[kind][1])
    return HostileInput("; ".join(kinds), whole, combined(fates), np.asarray(images))
