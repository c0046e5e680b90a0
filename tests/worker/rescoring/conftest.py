"""The substitute for another extractor."""

from tests.worker.substitute_extractor import substitute_extractor

__all__ = ["substitute_extractor"]
