"""A program that provokes an error of CUDA, and tells what Kennel takes it for: ``... lost_device cuda:0``.

It needs a process of its own, since nothing works on the GPU in it afterwards.
"""

import sys

import torch

from scorer.extractors import DeviceLost, ExtractorOptions
from scorer.extractors.devices import device_of, translated_device_errors
from scorer.extractors.options import parse_device


def _lose(device: torch.device) -> None:
    """Read beyond the end of an array, which a kernel notices on the GPU."""
    values = torch.zeros(1, device=device)
    values[torch.tensor([7]).to(device)].sum()
    torch.cuda.synchronize(device)


def _caught(device: torch.device) -> str:
    try:
        with translated_device_errors():
            _lose(device)
    except DeviceLost as error:
        return str(error)
    raise SystemExit("no error was raised")


if __name__ == "__main__":
    kind, index = parse_device(sys.argv[1])
    print(_caught(device_of(ExtractorOptions(device=kind, device_index=index))))
