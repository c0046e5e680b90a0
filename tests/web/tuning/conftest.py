"""What these tests measure by another network."""

from tests.worker.substitute_network import substitute_network

__all__ = ["substitute_network"]
