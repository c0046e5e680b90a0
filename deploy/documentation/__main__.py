"""``python -m deploy.documentation``: write ``docs/reference/``, ``.env.example`` and ``kennel_client.answers``; with
``--check``, fail if one is stale; with ``--openapi``, print the OpenAPI document."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping

from deploy.documentation.answer_types import answers_module
from deploy.documentation.commands import commands_page
from deploy.documentation.env_example import env_example
from deploy.documentation.operations import openapi, operations_page
from deploy.documentation.problems import ROOT, problem_slugs, problems_page
from deploy.documentation.settings import settings_page

PAGES: Mapping[str, Callable[[], str]] = {
    "client/kennel_client/answers.py": answers_module,
    "docs/reference/settings.md": settings_page,
    "docs/reference/cli.md": commands_page,
    "docs/reference/problems.md": problems_page,
    "api/openapi/problem_slugs.json": problem_slugs,
    "docs/reference/api.md": operations_page,
    ".env.example": env_example,
}
"""The function for each page, by path. The page of commands imports the client, and so its answers, on demand."""


def stale_pages() -> Iterator[tuple[str, str]]:
    """The path and new content of each page that differs from the generated one."""
    for name, make in PAGES.items():
        content = make()
        if _written(name) != content:
            yield name, content


def _written(name: str) -> str | None:
    path = ROOT / name
    return path.read_text() if path.is_file() else None


def main(arguments: list[str]) -> int:
    """Write the stale pages; with ``--check``, only print their names and return 1; with ``--openapi``, print that."""
    if "--openapi" in arguments:
        print(json.dumps(openapi(), indent=2))
        return 0
    stale = False
    for name, content in stale_pages():
        stale = True
        if "--check" in arguments:
            print(f"{name} is stale: run `make reference`.", file=sys.stderr)
        else:
            (ROOT / name).write_text(content)
            print(f"{name} updated.")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
