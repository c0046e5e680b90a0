"""Seeded random weights for networks whose trained weights the operator has to supply."""

from collections.abc import Mapping

import timm
import torch
from torch import Tensor


def seeded_state(architecture: str) -> dict[str, Tensor]:
    """Weights of timm's ``architecture`` under timm's names; see :func:`seeded`."""
    with torch.device("meta"):
        return seeded(timm.create_model(architecture, pretrained=False).state_dict())


def seeded(shapes: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Random tensors of these shapes, scaled so that activations neither vanish nor explode (He et al. 2015)."""
    generator = torch.Generator().manual_seed(0)
    state = {}
    for name, like in shapes.items():
        if like.ndim > 1:
            state[name] = torch.randn(like.shape, generator=generator, device="cpu") * (2 / like[0].numel()) ** 0.5
        elif not like.is_floating_point():
            state[name] = torch.zeros(like.shape, dtype=like.dtype, device="cpu")
        else:
            spread = 0.1 * torch.randn(like.shape, generator=generator, device="cpu")
            state[name] = spread if name.endswith(("bias", "mean")) else 1 + spread.abs()
    return state
