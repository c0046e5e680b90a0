"""The number of threads for matrix products, and a map over equal parts that runs one part per thread.

Products of a few rows, and decompositions, gain little from a second thread. If other work shares the processors, the
threads of one product wait for each other in loops: on a busy machine, ten small clusterings took ten times as much
processor time as with one thread each. So each part uses one thread here, and the parts run in parallel.
"""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Part = TypeVar("Part")
Result = TypeVar("Result")


def product_threads() -> int:
    """The number of threads for matrix products in this process."""
    return _count_threads(_controller())


def _controller() -> ThreadpoolController:
    """A controller for all BLAS libraries. A limit does not apply to a library loaded later, such as SciPy's."""
    import_module("scipy.linalg")
    return ThreadpoolController()


def _count_threads(controller: ThreadpoolController) -> int:
    return max([library["num_threads"] for library in controller.select(user_api="blas").info()], default=1)


def map_parts(function: Callable[[Part], Result], parts: Iterable[Part]) -> Generator[Result, None, None]:
    """Call the function with each part, and yield the results in the order of the parts. A result must not depend on
    the earlier parts."""
    controller = _controller()
    threads = _count_threads(controller)

    def alone() -> None:
        controller.limit(limits=1)  # OpenMP's limit is the calling thread's own

    with controller.limit(limits=1), ThreadPoolExecutor(threads, initializer=alone) as pool:
        results = [pool.submit(function, part) for part in parts]
        try:
            for result in results:
                yield result.result()
        finally:
            for pending in results:
                pending.cancel()
