"""What these tests measure by another network."""

from tests.worker.substitute_extractor import substitute_extractor

__all__ = ["substitute_extractor"]
