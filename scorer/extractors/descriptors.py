"""Networks whose features are descriptors, and transformers run at another size than they were trained at."""

from typing import Any

import torch
from torch import Tensor, nn

MIN_ACTIVATION = 1e-6
"""Below it an activation counts as this, so that its power has a root (as SSCD's code has it)."""
_OFFSET = 0.1


class GeneralisedMean(nn.Module):
    """Pools (b, c, h, w) to (b, c): the power mean ``(mean x^p)^(1/p)`` over space (Radenović et al. 2019)."""

    def __init__(self, power: float) -> None:
        super().__init__()
        self._power = power

    def forward(self, x: Tensor) -> Tensor:
        """Pool."""
        powers = x.clamp(min=MIN_ACTIVATION).pow(self._power)
        return powers.mean(dim=(2, 3)).pow(1.0 / self._power)


class UnitLength(nn.Module):
    """Scales every row of (b, d) to Euclidean length 1."""

    def forward(self, x: Tensor) -> Tensor:
        """Scale."""
        return nn.functional.normalize(x)


def run_at(transformer: Any, side: int) -> None:
    """Let one of timm's vision transformers take images of ``side`` pixels, in place.

    Its position embeddings are resampled once, as DINOv2's code does it at every pass: bicubic, without antialiasing,
    by the factor (new + 0.1) / old. timm's own resampling is antialiased, which gives other features.
    """
    positions, old = transformer.pos_embed, transformer.patch_embed.grid_size[0]
    new = side // transformer.patch_embed.patch_size[0]
    if new != old:
        transformer.set_input_size((side, side))
        transformer.pos_embed = nn.Parameter(_resampled(positions, old, new), requires_grad=False)


def _resampled(positions: Tensor, old: int, new: int) -> Tensor:
    """Embeddings (1, 1 + old^2, d) of the class token and a grid as (1, 1 + new^2, d)."""
    token, grid = positions[:, :1], positions[:, 1:]
    factor = (new + _OFFSET) / old
    grid = grid.reshape(1, old, old, -1).permute(0, 3, 1, 2)
    grid = nn.functional.interpolate(grid, scale_factor=(factor, factor), mode="bicubic")
    return torch.cat([token, grid.permute(0, 2, 3, 1).reshape(1, new * new, -1)], dim=1)


def without_fused_attention(transformer: nn.Module) -> None:
    """Let attention be plain matrix products and a softmax, in place: fused kernels choose their arithmetic by device,
    and do not follow the settings of :mod:`scorer.extractors.determinism`."""
    for module in transformer.modules():
        if hasattr(module, "fused_attn"):
            setattr(module, "fused_attn", False)  # noqa: B010 - torch's types know no such attribute
