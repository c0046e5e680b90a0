"""A participant's check of a zip, with and without Pillow. ``tests/pure/archive/test_deep_check.py`` tests that it
finds the same faults as the service."""

import sys
import zlib

import pytest

from kennel_client.archive.listing import ImageSpec
from kennel_client.archive.zip_check import check_zip
from kennel_client.errors import Invalid
from tests.pure.archive.broken_files import build_png, header, png, pngs, random_images, rows, zipped

SPEC = ImageSpec(4, 8)
SOUND = png(random_images(1)[0])
PACKED = zlib.compress(rows(random_images(1)[0]))
NO_SUCH_FILTER = build_png(header(8, 8), zlib.compress(b"\x09" + rows(random_images(1)[0])[1:]))
"""A PNG with wrong pixels only: the first row has a filter type that does not exist."""
FAULTS = {
    "wrong-size.png": (png(random_images(1, 9)[0]), "is 9x9, not 8x8"),
    "grey.png": (build_png(header(8, 8, colour=0), PACKED), "is greyscale"),
    "short.png": (build_png(header(8, 8), zlib.compress(rows(random_images(1)[0])[:-1])), "rows are missing"),
    "checksum.png": (SOUND.replace(b"IDAT", b"IDOT"), "a wrong checksum in its IDOT chunk"),
}


def without_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulate a machine without Pillow."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    monkeypatch.delitem(sys.modules, "kennel_client.archive.png_pixels", raising=False)


@pytest.mark.parametrize("pillow", [True, False])
def test_the_check_reports_whether_it_decoded_pixels(monkeypatch: pytest.MonkeyPatch, pillow: bool) -> None:
    if not pillow:
        without_pillow(monkeypatch)
    steps: list[tuple[int, int]] = []
    checked = check_zip(zipped(pngs(4)), SPEC, lambda *step: steps.append(step))
    assert (checked.spec, checked.pixels_decoded) == (SPEC, pillow)
    assert str(checked).startswith("4 images of 8x8: names, sizes, headers, checksums")
    assert ("pixels were not decoded, because Pillow is not installed" in str(checked)) is not pillow
    assert steps[-1] == (4, 4)


@pytest.mark.parametrize("pillow", [True, False])
def test_faults_outside_the_pixels_are_found_without_pillow(monkeypatch: pytest.MonkeyPatch, pillow: bool) -> None:
    if not pillow:
        without_pillow(monkeypatch)
    with pytest.raises(Invalid) as caught:
        check_zip(zipped((name, content) for name, (content, _) in FAULTS.items()), SPEC)
    assert [says in fault for fault, (_, says) in zip(caught.value.faults, sorted_faults(), strict=True)] == [True] * 4
    with pytest.raises(Invalid, match=r"4 images .*; the competition requires 5"):
        check_zip(zipped(pngs(4)), ImageSpec(5, 8))


def sorted_faults() -> list[tuple[bytes, str]]:
    """The faults in canonical order, in which they are reported."""
    return [FAULTS[name] for name in sorted(FAULTS)]


def test_wrong_pixels_are_found_only_with_pillow(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong() -> object:
        return check_zip(zipped([*pngs(3), ("x.png", NO_SUCH_FILTER)]), SPEC)

    with pytest.raises(Invalid, match="1 of 4 images can't be used"):
        wrong()
    without_pillow(monkeypatch)
    assert wrong()
