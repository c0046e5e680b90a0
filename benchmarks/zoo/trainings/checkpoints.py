"""Checkpoints: a training that is cut off goes on where it was, and ends as if it had not been."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, process_time
from typing import Any, Protocol

import torch


class Stateful(Protocol):
    """Whatever has a state that torch can store: networks, optimisers, averages."""

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state_dict: dict[str, Any], /) -> Any: ...


@dataclass
class Checkpoints:
    """The checkpoints of one method's trainings for one seed: a file for each, named ``prefix`` and its own name."""

    folder: Path
    prefix: str
    interval: float = 60.0
    """Seconds between two checkpoints."""
    seconds: float = field(default=0.0, init=False)
    """Processor time of all trainings run through this, before they were cut off, too."""

    def train(self, name: str, steps: int, parts: Mapping[str, Stateful], step: Callable[[int], None]) -> None:
        """Call ``step`` with 0, 1, ... up to ``steps``, from the last checkpoint on; all state is in ``parts``, and in
        torch's random numbers."""
        done, before = self._load(name, parts)
        began, stored = process_time(), monotonic()
        for number in range(done, steps):
            step(number)
            if number + 1 == steps or monotonic() - stored >= self.interval:
                self._store(name, parts, number + 1, before + process_time() - began)
                stored = monotonic()
        self.seconds += before + process_time() - began

    def remove(self) -> None:
        """Remove the files, once what they were for is stored."""
        for path in self.folder.glob(f"{self.prefix}-*.checkpoint"):
            path.unlink()

    def _path(self, name: str) -> Path:
        return self.folder / f"{self.prefix}-{name}.checkpoint"

    def _load(self, name: str, parts: Mapping[str, Stateful]) -> tuple[int, float]:
        """Steps and seconds of the stored state, which ``parts`` take over; zeros if there is none."""
        if not self._path(name).is_file():
            return 0, 0.0
        stored = torch.load(self._path(name), weights_only=True)
        for key, part in parts.items():
            part.load_state_dict(stored["parts"][key])
        torch.set_rng_state(stored["random"])
        return stored["steps"], stored["seconds"]

    def _store(self, name: str, parts: Mapping[str, Stateful], steps: int, seconds: float) -> None:
        state = {
            "parts": {key: part.state_dict() for key, part in parts.items()},
            "random": torch.get_rng_state(),
            "steps": steps,
            "seconds": seconds,
        }
        partial = self._path(name).with_suffix(".partial")
        torch.save(state, partial)
        partial.rename(self._path(name))
