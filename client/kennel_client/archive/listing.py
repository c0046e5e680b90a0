"""The fast check: a zip's names, count, sizes and compression, from its central directory alone."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import BinaryIO

from kennel_client.archive.central_directory import (
    DEFLATED,
    STORED,
    Directory,
    Member,
    find_directory,
    read_at,
    read_members,
)
from kennel_client.archive.faults import count_phrase, faulty_members_error, printable_list, printable_name
from kennel_client.archive.zip_bombs import refuse_bombs
from kennel_client.errors import Invalid

_JUNK = frozenset({"__macosx", "thumbs.db", "desktop.ini", "icon\r", "@eadir"})


def is_junk(path: str) -> bool:
    """Whether a path inside a zip or folder, with ``/`` between its parts, is ignored: a part begins with a dot
    (``.DS_Store``, ``._a.png``, ``.ipynb_checkpoints``) or is a known name. A path with ``..`` is refused instead.
    """
    parts = [part for part in path.split("/") if part != "."]
    return ".." not in parts and any(part.startswith(".") or part.lower() in _JUNK for part in parts)


def ignored_sentence(names: Sequence[str]) -> str | None:
    if not names:
        return None
    return f"{len(names):,} file{' was' if len(names) == 1 else 's were'} ignored: {printable_list(names)}."


METADATA_BYTES = 64 << 10  # allowance for text, XMP and the like in one zip or directory, and more for each image
DIRECTORY_BYTES = 1024  # allowance for one image in the directory: name, extra fields, a second entry in __MACOSX
_ENCRYPTED = 1 | 1 << 6 | 1 << 13  # APPNOTE 4.4.4: encrypted, strongly encrypted, directory masked
_AES = 99  # WinZip's encryption has this method number instead of the real method's
STRIP_METADATA = (
    "Strip it, for example with `exiftool -all= *.png` or `mogrify -strip *.png`, and create the zip again."
)
_IR_VERSION = b"\x08"  # protobuf's tag of ModelProto.ir_version, with which exporters begin an ONNX file
_UNREADABLE = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control and direction characters, line ends


@dataclass(frozen=True, slots=True)
class ImageSpec:
    """A competition's image specification: ``count`` square RGB 8-bit PNGs of ``size`` pixels a side."""

    count: int
    size: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.size < 1:
            raise ValueError(f"an image spec needs a positive count and size, not {self.count} and {self.size}")

    @property
    def pixel_bytes(self) -> int:
        """Bytes of one image before compression: three per pixel, and one filter byte per row."""
        return self.size * (1 + 3 * self.size)

    @property
    def metadata_bytes(self) -> int:
        """The most bytes of text, XMP and the like per image, on average."""
        return self.pixel_bytes + 4096

    @property
    def member_bytes(self) -> int:
        return self.pixel_bytes + self.metadata_bytes + METADATA_BYTES

    @property
    def total_bytes(self) -> int:
        """The most bytes to which all files of a zip together may unpack."""
        return self.count * (self.pixel_bytes + self.metadata_bytes) + METADATA_BYTES

    @property
    def directory_bytes(self) -> int:
        """The longest central directory that is read."""
        return self.count * DIRECTORY_BYTES + METADATA_BYTES

    @property
    def max_members(self) -> int:
        """The most directory entries that are read: images, a second entry for each in __MACOSX, some folders."""
        return 2 * self.count + 1000

    @property
    def upload_bytes(self) -> int:
        """The largest zip worth receiving: all images, their headers and the directory."""
        return self.total_bytes + 2 * self.directory_bytes


def is_generator(file: BinaryIO, file_name: str) -> bool:
    """Whether the file is a generator in ONNX according to its first bytes or its name."""
    start = read_at(file, 0, 2)
    is_onnx = start[:1] == _IR_VERSION and 1 <= start[-1] < 32
    return is_onnx or (file_name.lower().endswith(".onnx") and start != b"PK")


def refuse_generator(file: BinaryIO, file_name: str, spec: ImageSpec) -> None:
    """Raise ``Invalid`` (``not-a-zip``), with the command that draws images, if the file is a generator in ONNX."""
    if is_generator(file, file_name):
        draw = f"kennel draw {quote(file_name or 'FILE')} --seed 1 --count {spec.count} --out entry.zip"
        raise Invalid(
            "not-a-zip",
            "This is a generator in an ONNX file, but the competition takes a zip of PNG images. Draw them with "
            f"`{draw}`, and submit entry.zip.",
        )


@dataclass(frozen=True, slots=True)
class Listing:
    """The images of a zip, sorted by the UTF-8 bytes of their names, and a sentence about ignored files."""

    members: tuple[Member, ...]
    ignored: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Names as in the zip, with the folder, separated by ``/``."""
        return tuple(member.name for member in self.members)

    @property
    def labels(self) -> tuple[str, ...]:
        """Names as in messages."""
        return tuple(member.label for member in self.members)


def list_images(file: BinaryIO, spec: ImageSpec) -> Listing:
    """List the images of a participant's zip; reads only its end and its central directory.

    ``file`` is seekable and may be remote: one read for 10,000 images, two or three for many more. Any ``*.png``
    counts, if all are at the top or all are in one folder. Folders and junk files are ignored, but count against every
    limit of the zip.

    Raises ``Invalid`` with the slug ``not-a-zip``, ``split-zip``, ``encrypted``, ``unsupported-compression``,
    ``wrong-names``, ``wrong-count``, ``too-many-files``, ``too-much-metadata`` or ``zip-bomb``. Its ``faults`` are the
    first ten members concerned; ``extra["fault_count"]`` is the number of all.
    """
    return images_in(find_directory(file), spec)


def images_in(directory: Directory, spec: ImageSpec) -> Listing:
    """List the images of a directory; see :func:`list_images`."""
    if directory.size > spec.directory_bytes:
        raise _wrong_count(
            f"{directory.count:,} files in a directory of {directory.size:,} bytes", directory.count, spec
        )
    everything = read_members(directory, max_members=spec.max_members)
    members, ignored = canonical_members(everything)
    refuse_unreadable(members)
    faults = list(first_faults(members, (path_fault, _not_png, _misplaced(members), name_collisions())))
    if faults:
        message = f"The names of {count_phrase(faults, len(members))} can't be used."
        raise faulty_members_error("wrong-names", message, faults)
    if len(members) != spec.count:
        raise _wrong_count(_counted(members), len(members), spec, ignored=ignored)
    refuse_bombs(everything, image_bytes=spec.pixel_bytes)
    _refuse_metadata(members, everything, spec)
    return Listing(tuple(members), ignored)


def canonical_members(members: Sequence[Member]) -> tuple[list[Member], str | None]:
    """The members that count, in canonical order, and a sentence about the junk files. Omits folders."""
    files = sorted((m for m in members if _parts(m) and not m.name.endswith("/")), key=lambda m: m.name.encode())
    return [m for m in files if not is_junk(m.name)], ignored_sentence([m.label for m in files if is_junk(m.name)])


def refuse_unreadable(members: Sequence[Member]) -> None:
    """Raise ``Invalid`` if a member is encrypted or compressed with a method other than deflate."""
    encrypted = [(m.label, "is encrypted") for m in members if m.flags & _ENCRYPTED or m.method == _AES]
    if encrypted:
        raise faulty_members_error("encrypted", "The zip is encrypted; upload it without a password.", encrypted)
    unsupported = [
        (m.label, f"uses compression method {m.method}") for m in members if m.method not in (STORED, DEFLATED)
    ]
    if unsupported:
        message = "The zip uses a compression other than deflate; create it with a common zip program."
        raise faulty_members_error("unsupported-compression", message, unsupported)


def _refuse_metadata(members: Sequence[Member], everything: Sequence[Member], spec: ImageSpec) -> None:
    """Raise ``Invalid("too-much-metadata")`` if an image or the zip has more bytes than the specification allows.

    Only sizes are known, and pixels are seldom incompressible, so bytes beyond the largest possible pixels are
    certainly metadata.
    """
    sizes = [(m.label, max(m.size, m.compressed)) for m in members]
    large = [(label, f"has {_kilobytes(size - spec.pixel_bytes)}") for label, size in sizes if size > spec.member_bytes]
    if large:
        most = f"{(spec.member_bytes - spec.pixel_bytes) // 1000:,} KB"
        message = f"Images have too much metadata; one image can have at most {most}. {STRIP_METADATA}"
        raise faulty_members_error("too-much-metadata", message, large)
    if sum(m.size for m in everything) <= spec.total_bytes:
        return
    images = sum(size for _, size in sizes)
    if images > spec.total_bytes:
        average, most = _kilobytes(images // spec.count - spec.pixel_bytes), f"{spec.metadata_bytes // 1000:,} KB"
        message = f"The images have too much metadata: {average} per image; the limit is {most}. {STRIP_METADATA}"
    else:
        ignored = sum(m.size for m in everything) - images
        message = (
            f"The zip has {_kilobytes(ignored)} in files that are not images. That is too much: create the zip again "
            "without them."
        )
    raise Invalid("too-much-metadata", message)


def _kilobytes(size: int) -> str:
    """A size rounded up. Limits are rounded down, so that the two never look equal."""
    return f"{-(-size // 1000):,} KB"


def path_fault(member: Member) -> str | None:
    """The fault in a member's path, for any folder layout; None if there is none."""
    if _unreadable(member.name):
        return "has unreadable characters in its name"
    if member.name.startswith("/") or member.name[1:2] == ":":
        return "has an absolute path"
    if ".." in member.name.split("/"):
        return "has '..' in its path"
    return None


def name_collisions() -> Callable[[Member], str | None]:
    """A rule against names that an earlier member has, ignoring Unicode form and case."""
    seen: dict[str, tuple[int, str]] = {}  # by folded name: offset (no two members share one) and name

    def rule(member: Member) -> str | None:
        key = "/".join(_parts(member))
        if member.encoding_known:
            key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", key).casefold())
        first = seen.setdefault(key, (member.offset, member.name))
        if first[0] == member.offset:
            return None
        if first[1] == member.name:
            return "appears twice"
        return f"has the same name as {printable_name(first[1])}, ignoring case and Unicode form"

    return rule


def _unreadable(name: str) -> bool:
    odd = not name.isprintable() and any(unicodedata.category(c) in _UNREADABLE for c in name)
    return odd or "\ufffd" in name


def _parts(member: Member) -> list[str]:
    return [part for part in member.name.split("/") if part not in ("", ".")]


def first_faults(
    members: Sequence[Member], rules: Sequence[Callable[[Member], str | None]]
) -> Iterator[tuple[str, str]]:
    """Each faulty member with the message of the first rule that it breaks."""
    for member in members:
        fault = next((fault for rule in rules if (fault := rule(member)) is not None), None)
        if fault is not None:
            yield member.label, fault


def _not_png(member: Member) -> str | None:
    return None if member.name.lower().endswith(".png") else "is not a .png"


def _misplaced(members: Sequence[Member]) -> Callable[[Member], str | None]:
    """A rule against members outside the most common folder."""
    folders = Counter("/".join(_parts(member)[:-1]) for member in members)
    usual = max(folders, key=folders.__getitem__, default="")

    def rule(member: Member) -> str | None:
        *folder, _ = _parts(member)
        if len(folder) > 1:
            return "is in a folder within a folder"
        if "/".join(folder) != usual:
            return f"is not {f'in the folder {usual!r}' if usual else 'at the top'} like the others"
        return None

    return rule


def _counted(members: Sequence[Member]) -> str:
    images = f"{len(members):,} image{'' if len(members) == 1 else 's'}"
    return f"{images} ({printable_list([member.label for member in members])})" if members else images


def _wrong_count(contents: str, found: int, spec: ImageSpec, *, ignored: str | None = None) -> Invalid:
    message = f"The zip has {contents}; the competition requires {spec.count:,}."
    return Invalid("wrong-count", f"{message} {ignored}" if ignored else message, found=found, needed=spec.count)
