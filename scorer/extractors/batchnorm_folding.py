"""Batch norms folded into the convolutions before them: the same function with fewer passes over memory."""

import torch
from torch import Tensor, fx, nn


class _Tracer(fx.Tracer):
    """Traces a network as a graph of convolutions, batch norms, activations and pools."""

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        # timm's subclasses of these compute paddings from shapes, which symbolic tracing can't follow.
        pool = "Pool" in type(m).__name__
        is_leaf = isinstance(m, (nn.Conv2d, nn.BatchNorm2d)) or pool
        return is_leaf or super().is_leaf_module(m, module_qualified_name)


def fold(network: nn.Module) -> nn.Module:
    """Fold each batch norm, in place, into the convolution that only it reads.

    In evaluation a batch norm is affine, ``y = g (x - m) / sqrt(v + e) + b`` per channel. After ``x = W z + c`` it is
    the convolution ``W' = W g / sqrt(v + e)``, ``c' = (c - m) g / sqrt(v + e) + b``, computed in float64 and rounded
    once. If timm keeps an activation inside its batch norm, the activation replaces the norm.
    """
    for before, after in followers(network, nn.Conv2d, nn.BatchNorm2d):
        convolution, norm = network.get_submodule(before), network.get_submodule(after)
        assert isinstance(convolution, nn.Conv2d)  # noqa: S101 - for the type checker
        assert isinstance(norm, nn.BatchNorm2d)  # noqa: S101
        convolution.weight, convolution.bias = _folded(convolution, norm)
        replace_module(network, after, getattr(norm, "act", nn.Identity()))
    return network


def replace_module(network: nn.Module, path: str, module: nn.Module) -> None:
    parent, _, name = path.rpartition(".")
    setattr(network.get_submodule(parent), name, module)


def followers(network: nn.Module, first: type[nn.Module], *second: type[nn.Module]) -> list[tuple[str, str]]:
    """Pairs of module paths: a module of the first type, and the module of the other types that is the only reader of
    its output."""
    if not any(isinstance(module, second) for module in network.modules()):
        return []  # a transformer, which is not traced
    graph = _Tracer().trace(network)
    modules = dict(network.named_modules())
    calls = [node for node in graph.nodes if node.op == "call_module"]
    targets = [str(node.target) for node in calls]
    pairs = []
    for node in calls:
        source = node.args[0]
        if not isinstance(source, fx.Node) or source.op != "call_module" or len(source.users) != 1:
            continue
        before, after = str(source.target), str(node.target)
        fitting = isinstance(modules[before], first) and isinstance(modules[after], second)
        # A module that is called twice can't be changed for one of its calls.
        if fitting and targets.count(before) == targets.count(after) == 1:
            pairs.append((before, after))
    return pairs


def _folded(convolution: nn.Conv2d, norm: nn.BatchNorm2d) -> tuple[nn.Parameter, nn.Parameter]:
    mean, variance = _double(norm.running_mean), _double(norm.running_var)
    scale = _double(norm.weight) / torch.sqrt(variance + norm.eps)
    weight = _double(convolution.weight) * scale[:, None, None, None]
    start = torch.zeros_like(mean) if convolution.bias is None else _double(convolution.bias)
    bias = (start - mean) * scale + _double(norm.bias)
    return (
        nn.Parameter(weight.to(torch.float32), requires_grad=False),
        nn.Parameter(bias.to(torch.float32), requires_grad=False),
    )


def _double(tensor: Tensor | None) -> Tensor:
    if tensor is None:
        raise TypeError("a batch norm without statistics or scale cannot be folded")
    return tensor.to(torch.float64)
