"""The documentation names things that exist: pages, paths, settings, commands and their options, calls, slugs."""

import ast
import itertools
import os
import re
import shlex
import subprocess
import sys
import tomllib
from html.parser import HTMLParser
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

from api.main import create_app
from deploy.documentation.__main__ import stale_pages
from deploy.documentation.commands import all_commands
from deploy.documentation.settings import variables
from scorer.competitions.spec import CompetitionChanges, CompetitionSpec
from scorer.settings import Settings
from tests.documents import ROOT, blocks, code_spans, commands, pages, spoken_commands
from tests.privacy.crawler import walk_routes

FOLDERS = {"start", "how-to", "reference", "explanation", "decisions"}
DECISION_PARTS = ["Context", "Decision", "Consequences"]
PATH = re.compile(r"^(?:api|client|scorer|worker|deploy|benchmarks|migrations|tests|docs|\.ci)/[\w./*{},-]*$")
FILE = re.compile(r"^[\w.-]+\.(?:md|toml|yml|cfg|ini)$|^(?:Makefile|Dockerfile|LICENSE)$")
SETTING = re.compile(r"\b(?:KENNEL|AWS)_[A-Z0-9_]+\b|\b(?:DATABASE|DATABASE_OWNER|REDIS|BLOB)_URL\b")
CALL = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD) (/[^\s`?\"]*)|(?<=\$KENNEL_URL)()(/api/v1/[^\s`?\"]*)")
OF_TESTS = {"KENNEL_2019_TABLE", "KENNEL_SCREENSHOTS"}
ELSEWHERE = {"dogs.toml", "rehearsal.toml", "capacity.toml", "README.md", "zensical.toml"}
"""Files that readers of a page create, or that the service writes."""
REASONS = {
    "makes the environment in which this page is tested",
    "needs a file from elsewhere",
    "needs a generator",
    "writes this page",
    "needs a cluster",
    "needs docker",
    "needs root",
    "stops the service of this page",
    "takes minutes; CI runs the usual size",
    "its index cannot be reached from here",
}
"""Reasons for not running a block of commands in a test."""
WHOLE_OPTIONS = [["-h"], ["--help"], ["--version"], ["--install-completion"], ["--show-completion"]]
"""What ``kennel`` accepts without a command."""
ANOTHER_TERMINAL = "another terminal"
OF_THE_MACHINE = ("/var/", "/etc/", "/opt/", "/proc", "/root")

CURRENT = (
    "api",
    "benchmarks",
    "client",
    "deploy",
    "docs/how-to",
    "docs/start",
    "migrations",
    "scorer",
    "tests",
    "worker",
)
TEXTS = {".css", ".html", ".js", ".md", ".py", ".sql", ".toml", ".yaml", ".yml"}
RETIRED = re.compile(r"(?<=\| )`[^|]*(?= \|$)", re.MULTILINE)
"""Matches the non-empty cells in the last column of the glossary's tables."""

every_page = pytest.mark.parametrize("page", pages(), ids=lambda page: page.relative_to(ROOT).as_posix())


def test_reference_pages_match_the_code() -> None:
    assert list(stale_pages()) == [], "run `make reference`"


def test_every_setting_has_a_description() -> None:
    assert [name for name, field in Settings.model_fields.items() if not field.description] == []


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_docs_has_its_folders_and_no_others() -> None:
    assert {folder.name for folder in (ROOT / "docs").iterdir() if folder.is_dir()} == FOLDERS
    assert list((ROOT / "docs").rglob("*.py")) == []


def test_every_decision_is_numbered_dated_and_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    rows = []
    for number, page in enumerate(sorted(folder.glob("0*.md")), 1):
        title, stated, *paragraphs = page.read_text().split("\n\n")
        stated_as = re.fullmatch(r"(Accepted|Superseded by \[\d+\]\(.+\)), (\d{4}-\d\d-\d\d)\.", stated)
        assert stated_as, page.name
        status, date = stated_as.groups()
        assert page.name.startswith(f"{number:04}-")
        assert title.startswith(f"# {number}. ")
        assert re.findall(r"^\*\*(\w+)\.\*\* ", "\n".join(paragraphs), re.MULTILINE) == DECISION_PARTS
        assert len(paragraphs) == len(DECISION_PARTS)
        rows.append((date, f"| {number} | [{title.partition('. ')[2]}]({page.name}) | {date} | {status.lower()} |"))
    assert sorted(date for date, _ in rows) == [date for date, _ in rows]
    assert (folder / "index.md").read_text().splitlines()[-len(rows) :] == [row for _, row in rows]


def missing_paths(text: str) -> list[str]:
    """The paths in a page's code spans and commands that do not exist. Expands ``a/{b,c}.py`` and ``*``."""
    spans = [word.removeprefix("TESTS=").split("::")[0] for span in code_spans(text) for word in span.split()]
    named = [span for span in spans if (PATH.match(span) or FILE.match(span)) and span not in ELSEWHERE]
    return [span for span in named if not all(any(ROOT.glob(path)) for path in _expanded(span))]


def without_retired_names(page: Path) -> str:
    return RETIRED.sub("", page.read_text()) if page.name == "glossary.md" else page.read_text()


def retired_names_in(text: str, retired: list[str]) -> list[str]:
    """The retired names that a text contains as whole words or as parts of a URL."""
    return [name for name in retired if name in text and re.search(rf"(?:\b|(?=[/-])){re.escape(name)}(?![\w-])", text)]


def test_names_that_the_glossary_retires_are_gone() -> None:
    retired = [name for cell in RETIRED.findall((ROOT / "docs/glossary.md").read_text()) for name in code_spans(cell)]
    names = ["GuestView", "/guests", "--guest"]
    assert retired_names_in("class GuestView: get('/x/guests')  # list --guest", names) == names
    assert not retired_names_in("class GuestViews: get('/x/guests-of')", ["GuestView", "/guests"])
    files = [
        path
        for folder in CURRENT
        for path in (ROOT / folder).rglob("*")
        if path.suffix in TEXTS and path != Path(__file__)
    ]
    named = {str(path): names for path in files if (names := retired_names_in(path.read_text(), retired))}
    assert retired
    assert named == {}


@every_page
def test_every_named_test_exists(page: Path) -> None:
    named = [span.split("::") for span in code_spans(page.read_text()) if span.startswith("tests/") and "::" in span]
    missing = [(file, name) for file, name in named if f"def {name}(" not in (ROOT / file).read_text()]
    assert missing == []


def test_every_claim_of_the_security_page_names_its_test() -> None:
    """The page covers all chapters of the standard except V17 (WebRTC), which does not apply."""
    chapters = re.split("^## ", (ROOT / "docs" / "explanation" / "security.md").read_text(), flags=re.MULTILINE)[1:]
    numbers = [number for chapter in chapters for number in re.findall(r"\bV(\d+) ", chapter.partition("\n")[0])]
    assert numbers == [str(number) for number in range(1, 17)]
    claims = {chapter.partition("\n")[0]: re.split("^- ", chapter, flags=re.MULTILINE)[1:] for chapter in chapters}
    assert [title for title, found in claims.items() if not found] == []
    del claims["Accepted risks"]
    assert [claim for found in claims.values() for claim in found if not re.search("`tests/[^`]+::", claim)] == []
    assert "not met" not in " ".join(chapters)


def _expanded(path: str) -> list[str]:
    """``a/{b,c}`` as ``a/b`` and ``a/c``."""
    parts = re.split(r"\{([^{}]*)\}", path.rstrip("/"))
    choices = [part.split(",") if index % 2 else [part] for index, part in enumerate(parts)]
    return ["".join(choice) for choice in itertools.product(*choices)]


def test_paths_are_found_and_missing_ones_named() -> None:
    text = (
        "`scorer/errors.py` `scorer/{settings,errors}.py` `tests/*/conftest.py` `api/` `Makefile` `a/b.py` `dogs.toml`"
    )
    assert missing_paths(text) == []
    assert missing_paths("`scorer/no_such.py` and `scorer/{errors,none}.py`, `no-such.yml`") == [
        "scorer/no_such.py",
        "scorer/{errors,none}.py",
        "no-such.yml",
    ]
    assert missing_paths("`python -m pytest tests/none.py -k x`, `make test TESTS=tests/no`") == [
        "tests/none.py",
        "tests/no",
    ]


@every_page
def test_every_path_exists(page: Path) -> None:
    assert missing_paths(page.read_text()) == []


@every_page
def test_linked_files_exist(page: Path) -> None:
    """mkdocs only checks links between pages of the site."""
    targets = re.findall(r"\]\((?!https?:|#)([^)#\s]+)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@every_page
def test_every_setting_exists(page: Path) -> None:
    assert set(SETTING.findall(page.read_text())) - variables() - OF_TESTS == set()


@every_page
def test_every_command_exists(page: Path) -> None:
    for command in spoken_commands(without_retired_names(page)):
        if command.startswith("kennel "):
            assert find_kennel_faults(command) == [], command


def find_kennel_faults(command: str) -> list[str]:
    """The parts of a ``kennel`` command line that do not exist: the command itself, or its options."""
    words = shlex.split(re.split(r"\s[|>&;#]|\s{2,}#", command)[0])
    commands = all_commands()
    if words[1].startswith("-"):
        return [] if words[1:] in WHOLE_OPTIONS else [command]
    known = [name for length in range(len(words), 1, -1) if (name := " ".join(words[:length])) in commands]
    if not known:
        return [] if any(name.startswith(f"{' '.join(words)} ") for name in commands) else [command]
    if known[0] == "kennel kaggle":
        return []
    given = {word.split("=")[0] for word in words if re.match(r"--\w", word)}
    parameters = commands[known[0]].params
    options = {option for parameter in parameters for option in (*parameter.opts, *parameter.secondary_opts)}
    return sorted(given - options - {"--help"})


def test_wrong_commands_are_named() -> None:
    assert find_kennel_faults("kennel admin competition create dogs.toml") == []
    assert find_kennel_faults("kennel admin") == []
    assert find_kennel_faults("kennel submit dogs dogs.zip --note 'a b' --watch") == []
    assert find_kennel_faults("kennel admin no-such dogs") == ["kennel admin no-such dogs"]
    assert find_kennel_faults("kennel up --prot 8000") == ["--prot"]
    assert find_kennel_faults("kennel --version") == []
    assert find_kennel_faults("kennel --verison") == ["kennel --verison"]


@every_page
def test_marks_say_why_commands_are_not_run(page: Path) -> None:
    """A mark is directly above a block of commands that the tests of the pages skip, and gives a known reason."""
    text = page.read_text()
    marked = [block for block in blocks(text) if block.mark]
    assert text.count("<!-- not run") + text.count("<!-- run by") == len(marked), "a mark without a block below it"
    assert {block.marked for block in marked if block.mark == "not run"} <= REASONS
    for block in marked:
        if block.mark == "run by" and block.marked != ANOTHER_TERMINAL:
            runs = (ROOT / block.marked).read_text()
            assert [command for command in commands(block) if command.split("#")[0].strip() not in runs] == []


@every_page
def test_every_target_of_make_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = [command for command in spoken_commands(page.read_text()) if command.startswith("make ")]
    words = [word for command in named for word in command.split("#")[0].split()[1:]]
    assert [word for word in words if "=" not in word and word not in targets] == []


@every_page
def test_every_name_that_a_program_imports_exists(page: Path) -> None:
    imports = [
        (node.module, name.name)
        for block in blocks(page.read_text())
        if block.language == "python"
        for node in ast.walk(ast.parse(block.body))
        if isinstance(node, ast.ImportFrom) and node.module and (ROOT / node.module.split(".")[0]).is_dir()
        for name in node.names
    ]
    assert [(module, name) for module, name in imports if not hasattr(import_module(module), name)] == []


@every_page
def test_every_module_that_is_run_exists(page: Path) -> None:
    named = re.findall(r"python -m ([\w.]+)", page.read_text())
    own = [name for name in named if (ROOT / name.split(".")[0]).is_dir()]
    assert [name for name in own if find_spec(name) is None] == []


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, re.Pattern[str]]]:
    """Every method and path pattern of the service."""
    blobs = tmp_path_factory.mktemp("blobs").as_uri()
    settings = Settings.model_validate(
        {"database_url": "postgresql://x/x", "redis_url": "redis://x", "blob_url": blobs}
    )
    routes = walk_routes(create_app(settings))
    return [(route.method.lower(), re.compile(re.sub(r"\{[^}]*\}", "[^/]+", route.path))) for route in routes]


@every_page
def test_every_call_exists(page: Path, addresses: list[tuple[str, re.Pattern[str]]]) -> None:
    text = page.read_text()
    for method, path, _, called in CALL.findall(text):
        wanted = (path or called).rstrip(".,;:)'\\")
        wholes = {wanted, f"/api/v1{wanted}"}  # pages leave out the common prefix
        matching = [answered for answered, pattern in addresses if any(pattern.fullmatch(whole) for whole in wholes)]
        assert matching, f"no route {wanted}"
        assert not method or method.lower() in matching, f"{wanted} answers no {method}"


@every_page
def test_every_page_of_the_service_exists(page: Path, addresses: list[tuple[str, re.Pattern[str]]]) -> None:
    """A code span that begins with a slash is a page, unless it is a path on the machine."""
    spans = code_spans(without_retired_names(page))
    named = [span for span in spans if re.match(r"/[a-z]", span) and not span.startswith(OF_THE_MACHINE)]
    wanted = [span.split("?")[0] for span in named]
    assert [address for address in wanted if not any(pattern.fullmatch(address) for _, pattern in addresses)] == []


@every_page
def test_toml_in_pages_makes_competitions(page: Path) -> None:
    for block in blocks(page.read_text()):
        if block.language == "toml":
            fields = tomllib.loads(block.body)
            (CompetitionSpec if "slug" in fields else CompetitionChanges).model_validate(fields)


class Sources(HTMLParser):
    """Collects the URLs that a browser loads to show a page, without the links."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.diagrams = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        self.diagrams += "mermaid" in attributes.get("class", "").split()
        if tag != "a":
            self.found += [
                attributes[name] for name in ("src", "href", "srcset", "data", "poster", "action") if name in attributes
            ]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make check` builds it."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = Path(sys.executable).with_name("mkdocs")
    done = subprocess.run(
        [mkdocs, "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_loads_nothing_from_other_hosts(site: Path) -> None:
    built = sorted(site.rglob("*.html"))
    assert len(built) > 20
    for page in built:
        sources = Sources()
        sources.feed(page.read_text())
        assert [source for source in sources.found if re.match(r"(?:[a-z]+:)?//", source)] == [], page
        assert sources.diagrams == 0, f"{page}: the theme loads the diagram script from another host"
    for sheet in site.rglob("*.css"):
        assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", sheet.read_text()) == [], sheet


def test_the_site_includes_the_contributing_page(site: Path) -> None:
    assert "A first change" in (site / "contributing.html").read_text()
