"""Names that the service, its rules and the client share."""

from typing import Literal

ThresholdMethod = Literal["margin", "held_out", "otsu", "accuracy", "paper", "manual"]
"""How a track's tau is chosen, the default first."""
TrackKind = Literal["public", "private"]
