"""Pages that ``make gpu-check`` has printed on GPUs, as they were pasted: what they say of each network's speed."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "results" / "gpu_checks"
_THROUGHPUT = re.compile(r"^\| (\w+) \| ([\d,]+) \| (\d+)% \| [\d,]+ \| \d+ \| ", re.MULTILINE)
"""A row of the table of networks: name, images a second, share of the roof."""
_ROOF = re.compile(r"^Roof, measured here: ([\d.]+) TFLOP/s .* ([\d,]+) GB/s", re.MULTILINE)


@dataclass(frozen=True)
class CheckPage:
    """What one page says."""

    text: str
    rates: Mapping[str, float]
    """Images per second by network."""
    shares: Mapping[str, float]
    """Of the roof measured by the same check, by network."""
    flops: float
    """Float32 operations per second of a product of matrices."""
    bandwidth: float
    """Bytes per second of a copy, read and written."""

    def fact(self, name: str) -> str:
        """A fact of the page's first table, such as the date; ``LookupError`` if it has none of that name."""
        found = re.search(rf"^\| {re.escape(name)} \| (.*) \|$", self.text, re.MULTILINE)
        if found is None:
            raise LookupError(f"the page of a GPU check says nothing of its {name}")
        return found[1]


def read_page(text: str) -> CheckPage:
    """What a page says; ``LookupError`` unless all its checks have passed."""
    roof = _ROOF.search(text)
    if not text.startswith("# GPU check: passed\n") or roof is None:
        raise LookupError("the page is not that of a GPU check that has passed")
    rows = _THROUGHPUT.findall(text)
    return CheckPage(
        text,
        {name: float(rate.replace(",", "")) for name, rate, _ in rows},
        {name: int(share) / 100 for name, _, share in rows},
        float(roof[1]) * 1e12,
        float(roof[2].replace(",", "")) * 1e9,
    )


def kept_pages() -> list[CheckPage]:
    """All pages that are kept, the newest last."""
    pages = [read_page(path.read_text()) for path in FOLDER.glob("*.md")]
    return sorted(pages, key=lambda page: page.fact("date"))
