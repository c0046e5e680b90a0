"""OpenAI's names for the weights of CLIP's image tower with one block."""

from collections.abc import Mapping

from torch import Tensor

_BLOCK = "transformer.resblocks.0"
_NAMES = {
    "cls_token": "class_embedding",
    "pos_embed": "positional_embedding",
    "patch_embed.proj.weight": "conv1.weight",
    "head.weight": "proj",
    "blocks.0.attn.qkv.weight": f"{_BLOCK}.attn.in_proj_weight",
    "blocks.0.attn.qkv.bias": f"{_BLOCK}.attn.in_proj_bias",
}
_LAYERS = {
    "norm_pre": "ln_pre",
    "norm": "ln_post",
    "blocks.0.norm1": f"{_BLOCK}.ln_1",
    "blocks.0.norm2": f"{_BLOCK}.ln_2",
    "blocks.0.attn.proj": f"{_BLOCK}.attn.out_proj",
    "blocks.0.mlp.fc1": f"{_BLOCK}.mlp.c_fc",
    "blocks.0.mlp.fc2": f"{_BLOCK}.mlp.c_proj",
}


def openai_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Convert timm's tensors to OpenAI's: the projection has no bias, positions and class token have no batch
    dimension."""
    published = {}
    for name, value in state.items():
        layer, _, kind = name.rpartition(".")
        shaped = value.flatten(0, -2).squeeze(0) if name in {"cls_token", "pos_embed"} else value
        shaped = value.t().contiguous() if name == "head.weight" else shaped
        if name != "head.bias":
            published[_NAMES.get(name) or f"{_LAYERS[layer]}.{kind}"] = shaped
    return published
