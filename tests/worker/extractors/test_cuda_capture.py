"""Captures of every network under the rules of CUDA graphs, on torch's meta device, which computes nothing.

While CUDA captures a graph, nothing may come from the host, be read back, or wait. A tensor made of Python numbers is a
copy from the host, so the capture fails. These tests check the calls that reach CUDA, but don't run CUDA.
"""

import gc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from scorer.extractor_catalogue import EXTRACTORS, ExtractorSpec, find_extractor
from scorer.extractors import ExtractorOptions, networks, torch_extractor
from scorer.extractors.networks import Network
from scorer.extractors.torch_extractor import TorchExtractor
from scorer.extractors.weights import Weights
from tests.worker.extractors.host_gpu import HostGpu

META = torch.device("meta")
NETWORKS = [spec for spec in EXTRACTORS.values() if spec.architecture]
ONES = np.ones(3, np.float32)
ON_HOST = torch.ones(3)
OF_THE_HOST = "made of Python numbers|reads a tensor of the host"
READ_BACK = {
    "item",
    "_local_scalar_dense",
    "equal",
    "is_nonzero",
    "nonzero",
    "masked_select",
    "unique_consecutive",
    "_unique2",
}
"""The host must know the result of these operators, or its size, before it continues."""


def tensors_in(values: object) -> list[Tensor]:
    return [leaf for leaf in tree_leaves(values) if isinstance(leaf, Tensor)]


class Functions(TorchFunctionMode):
    """Refuses tensors not made of tensors: torch copies them from the host, and the operators don't show it."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        made = tensors_in(result) and not tensors_in((args, kwargs)) and not func.__name__.startswith("empty")
        assert not made, f"{func}: a tensor is made of Python numbers"
        return result


class Operators(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses operators that CUDA can't capture before they run, and records the tensors read from outside."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.read: list[weakref.ref[Tensor]] = []
        self._made: dict[int, Tensor] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        operands = tensors_in((args, kwargs))
        assert name not in READ_BACK, f"{func} makes the host wait"
        assert operands or name.startswith("empty"), f"{func}: memory is filled from the host"
        assert all(operand.device == META for operand in operands), f"{func} reads a tensor of the host"
        assert name != "index" or not any(operand.dtype == torch.bool for operand in operands), (
            f"{func} counts on the host"
        )
        target = (kwargs or {}).get("device")
        assert target is None or torch.device(target) == META, f"{func} copies to the host"
        self.read += [weakref.ref(operand) for operand in operands if id(operand) not in self._made]
        result = func(*args, **(kwargs or {}))
        self._made |= {id(tensor): tensor for tensor in tensors_in(result)}
        return result


@contextmanager
def capturing() -> Iterator[Operators]:
    """Apply CUDA's rules for captures during the block."""
    operators = Operators()
    with Functions(), operators:
        yield operators


class MetaGpu(HostGpu):
    """A GPU with memory on the meta device that applies CUDA's rules to captures."""

    def __init__(self, device: torch.device) -> None:
        super().__init__()
        assert device == META
        self.read: list[weakref.ref[Tensor]] = []

    def zeros(self, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.zeros(shape, dtype=dtype, device=META)

    def capture(self, stream: object, run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
        run()  # as the real GPU does, to create everything that first use creates
        with capturing() as operators:
            output = run()
        self.read += operators.read
        assert output.device == META
        self.captures.append(tuple(output.shape))
        return lambda: None, torch.zeros(output.shape)


def unfilled(spec: ExtractorSpec, _: Weights) -> Network:
    """An extractor's network without weights."""
    trunk = networks.build_trunk(networks.unfilled_network(spec).eval().requires_grad_(requires_grad=False), spec)
    return Network(trunk, None)


@pytest.fixture
def on_meta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make extractors use the meta device as a GPU, without weights."""
    monkeypatch.setattr(torch_extractor, "choose_device", lambda _: META)
    monkeypatch.setattr(torch_extractor, "find_gpu", MetaGpu)
    monkeypatch.setattr(torch_extractor, "build_network", unfilled)
    monkeypatch.setattr(torch_extractor, "record_sha256", lambda *_: None)


def captured(spec: ExtractorSpec, dtype: type[np.generic]) -> Any:
    """An extractor with captured graphs for images of its own size, and for smaller images of this type."""
    extractor: Any = TorchExtractor(spec, Weights(None, b"", ""), ExtractorOptions(batch_size=2))  # type: ignore[arg-type]
    warmed_up = list(extractor._gpu.read)
    assert len(warmed_up) > 100
    gc.collect()
    assert all(constant() is not None for constant in warmed_up), (
        "the memory of a freed constant could go to another tensor"
    )
    with extractor._deterministic():
        extractor._slots_for(np.zeros((2, 64, 48, 3), dtype))
    assert extractor._gpu.captures == 4 * [(2, spec.dimension)], "two at the network's own size, two at the images'"
    return extractor


@pytest.mark.usefixtures("on_meta")
@pytest.mark.parametrize("spec", NETWORKS, ids=lambda spec: spec.name)
def test_captures_use_no_host_memory_and_keep_their_tensors_alive(spec: ExtractorSpec) -> None:
    """A graph contains only addresses, so its tensors must live as long as its slot."""
    captured(spec, np.uint8)


@pytest.mark.usefixtures("on_meta")
def test_images_of_floats_are_captured() -> None:
    """One network is enough, because only the preprocessing depends on the type, and all networks share it."""
    captured(find_extractor("efficientnet_lite0"), np.float32)


class Planted(nn.Module):
    """A network with one operation that CUDA can't capture."""

    def __init__(self, act: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self._act = act

    def forward(self, x: Tensor) -> Tensor:
        flat = x.mean(dim=(2, 3))
        self._act(flat)
        return flat


@pytest.mark.parametrize(
    ("act", "fault"),
    [
        (lambda x: x - torch.tensor([0.5], device=x.device), "made of Python numbers"),
        (lambda x: x * torch.tensor(0.5), OF_THE_HOST),
        (lambda x: x * torch.from_numpy(ONES), OF_THE_HOST),
        (lambda x: x * ON_HOST, "reads a tensor of the host"),
        (lambda x: x.copy_(ON_HOST), "reads a tensor of the host"),
        (lambda x: ON_HOST.to(x.device), "reads a tensor of the host"),
        (lambda x: torch.full((3,), 0.5, device=x.device), "filled from the host"),
        (lambda x: torch.arange(3, device=x.device), "filled from the host"),
        (lambda x: x.sum().item(), "makes the host wait"),
        (lambda x: bool((x > 0).any()), "makes the host wait"),
        (lambda x: x[x > 0], "counts on the host|makes the host wait"),
        (lambda x: x.cpu(), "copies to the host"),
    ],
)
def test_the_imitation_refuses_what_cuda_refuses(act: Callable[[Tensor], Any], fault: str) -> None:
    """Shows that the tests above can fail."""
    network = Planted(act)
    with torch.inference_mode(), capturing(), pytest.raises(AssertionError, match=fault):
        network(torch.empty(2, 3, 4, 4, device=META))
