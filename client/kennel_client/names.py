"""Names that the service, its rules and the client share."""

from typing import Literal

ThresholdMethod = Literal["margin", "held_out", "otsu", "accuracy", "paper", "manual"]
"""Methods to choose a track's tau, the default first."""
Distribution = Literal["normal", "uniform", "truncated-normal"]
"""Distributions of the coordinates of a generator's latents."""
TrackKind = Literal["public", "private"]
