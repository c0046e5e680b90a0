"""A cheap substitute for efficientnet_lite0, for tests with two extractors."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from scorer.extractor_catalogue import find_extractor
from scorer.extractors import Extractor, ExtractorOptions, load
from scorer.extractors.tiny import Tiny
from worker.runtime import context


@pytest.fixture(autouse=True)
def substitute_extractor() -> Iterator[None]:
    """Make workers project pixels to features, with another projection than tiny's."""
    real = find_extractor("efficientnet_lite0")
    substitute = replace(
        find_extractor("tiny"), name=real.name, version=real.version, weights_sha256=real.weights_sha256, input_size=32
    )

    def load_substitute(identity: str, *, options: ExtractorOptions) -> Extractor:
        return Tiny(substitute, options) if identity == real.identity else load(identity, options=options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(context, "load", load_substitute)
        yield


OTHER = "efficientnet_lite0@1"
