"""How many threads matrix products have, and work that falls into equal parts, on as many threads, each with products
of its own.

Products of a few rows, and decompositions, gain little from a second thread, and where other work shares the
processors the threads of one product wait for each other in loops: ten small clusterings took ten times as much of
processors on a busy machine as with one thread each. So each part keeps to one thread here, and parts run beside each
other.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")


def product_threads() -> int:
    """How many threads matrix products have in this process."""
    return _threads_of(_controller())


def _controller() -> ThreadpoolController:
    """Of all BLAS libraries: a limit does not hold for one that is loaded later, as SciPy's is on first use."""
    import_module("scipy.linalg")
    return ThreadpoolController()


def _threads_of(controller: ThreadpoolController) -> int:
    return max([each["num_threads"] for each in controller.select(user_api="blas").info()], default=1)


def map_parts(function: Callable[[Part], Result], parts: Iterable[Part]) -> Iterator[Result]:
    """The function of each part, in the order of the parts. It must not depend on which parts were before."""
    controller = _controller()
    threads = _threads_of(controller)

    def alone() -> None:
        controller.limit(limits=1)  # OpenMP's limit is the calling thread's own

    with controller.limit(limits=1), ThreadPoolExecutor(threads, initializer=alone) as pool:
        results = [pool.submit(function, part) for part in parts]
        try:
            for result in results:
                yield result.result()
        finally:
            for each in results:
                each.cancel()
