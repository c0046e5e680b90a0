"""The catalogue of extractors: names, identities, and an import without torch."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from scorer.competitions.worker_weights import DEFAULT_EXTRACTORS
from scorer.errors import Invalid
from scorer.extractor_catalogue import EXTRACTORS, find_extractor

REPOSITORY = Path(__file__).parents[2]
SIGNED = {"dinov2", "clip", "sscd"}


@pytest.mark.parametrize(
    ("name", "dimension", "input_size"),
    [
        ("inception_v3", 2048, 299),
        ("inception_2015", 2048, 299),
        ("nasnetalarge", 4032, 331),
        ("efficientnet_lite0", 1280, 224),
        ("efficientnet_lite2", 1280, 260),
        ("dinov2", 1024, 224),
        ("clip", 768, 336),
        ("sscd", 512, 320),
        ("tiny", 32, 64),
    ],
)
def test_an_extractor_is_found_by_name_and_by_identity(name: str, dimension: int, input_size: int) -> None:
    spec = find_extractor(name)
    assert (spec.dimension, spec.input_size) == (dimension, input_size)
    assert spec.identity == f"{name}@1"
    assert find_extractor(spec.identity) is spec is EXTRACTORS[name]


@pytest.mark.parametrize("name", ["inception", "tiny@2", "tiny@", "@1", "", "TINY"])
def test_an_unknown_extractor_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(Invalid) as error:
        find_extractor(name)
    assert error.value.slug == "unknown-extractor"
    assert all(spec.identity in error.value.message for spec in EXTRACTORS.values())


def test_only_an_operator_knows_the_weights_of_production_extractors() -> None:
    unknown = {spec.name for spec in EXTRACTORS.values() if spec.weights_sha256 is None}
    assert unknown == {"inception_v3", "inception_2015", "nasnetalarge", *SIGNED}
    assert all(len(spec.weights_sha256) == 64 for spec in EXTRACTORS.values() if spec.weights_sha256)


def test_a_stated_hash_is_in_the_name_of_the_published_file() -> None:
    names = {spec.name: re.search(r"-([0-9a-f]{8})\.pth$", spec.weights_url or "") for spec in EXTRACTORS.values()}
    stated = {name: match[1] for name, match in names.items() if match}
    assert stated == {spec.name: spec.stated_sha256 for spec in EXTRACTORS.values() if spec.stated_in}


def test_the_documentation_links_the_published_files() -> None:
    page = (REPOSITORY / "docs/how-to/weights.md").read_text()
    first_block = page.split("```")[1]
    assert all(find_extractor(name).installation in first_block for name in DEFAULT_EXTRACTORS.values())
    assert all(f"]({spec.weights_url})" in page for spec in EXTRACTORS.values() if spec.weights_sha256 is None)


def test_features_are_signed_unless_the_extractor_ends_in_a_relu() -> None:
    """After a ReLU, |cos| and cos agree (docs/explanation/metrics.md#memorization-distance)."""
    assert {spec.name for spec in EXTRACTORS.values() if not spec.non_negative} == SIGNED


def test_a_specification_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        find_extractor("tiny").dimension = 64  # type: ignore[misc]


def test_importing_the_catalogue_imports_no_large_library() -> None:
    code = "import sys, scorer.extractor_catalogue; print(sorted({'torch', 'timm', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
