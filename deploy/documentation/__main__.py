"""``python -m deploy.documentation``: write ``docs/reference/``; with ``--check``, fail where a page is stale."""

import sys
from collections.abc import Callable, Mapping

from deploy.documentation.commands import commands_page
from deploy.documentation.operations import operations_page
from deploy.documentation.problems import ROOT, problems_page
from deploy.documentation.settings import settings_page

FOLDER = ROOT / "docs" / "reference"
PAGES: Mapping[str, Callable[[], str]] = {
    "settings.md": settings_page,
    "cli.md": commands_page,
    "problems.md": problems_page,
    "api.md": operations_page,
}


def stale_pages() -> dict[str, str]:
    """The stale pages: name and new content of each page that differs from what the code generates."""
    pages = {name: make() for name, make in PAGES.items()}
    return {name: content for name, content in pages.items() if _written(name) != content}


def _written(name: str) -> str | None:
    path = FOLDER / name
    return path.read_text() if path.is_file() else None


def main(arguments: list[str]) -> int:
    """Write the stale pages; with ``--check``, only print their names and return 1."""
    stale = stale_pages()
    for name, content in stale.items():
        if "--check" in arguments:
            print(f"docs/reference/{name} is stale: run `make reference`.", file=sys.stderr)
        else:
            FOLDER.mkdir(parents=True, exist_ok=True)
            (FOLDER / name).write_text(content)
            print(f"docs/reference/{name} is written.")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
