"""Requests to Kennel's HTTP API from a program with an event loop."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Self

from kennel_client.api import (
    DOWNLOAD_SILENCE_SECONDS,
    TIMEOUT,
    answers_required,
    auth_headers,
    require_success,
    stream_options,
)
from kennel_client.downloads import ArrivingFile
from kennel_client.steps import STEP_ERRORS, Download, Listen, LocalWork, Operation, Pause, Result, Step, StoreRequest

if TYPE_CHECKING:
    import httpx


class AsyncApiClient:
    def __init__(self, url: str, token: str | None = None) -> None:
        import httpx  # noqa: PLC0415 - as in ``api``

        self.url = url.rstrip("/")
        with answers_required(self.url):
            self._http = httpx.AsyncClient(base_url=f"{self.url}/api/v1", headers=auth_headers(token), timeout=TIMEOUT)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def run(self, operation: Operation[Result]) -> Result:
        """Run an operation and return its result; reads files and checks zips in a thread."""
        try:
            step = next(operation)
            while True:
                try:
                    outcome = await self._take(step)
                except STEP_ERRORS as error:
                    step = operation.throw(error)
                else:
                    step = operation.send(outcome)
        except StopIteration as end:
            result: Result = end.value
            return result

    async def _take(self, step: Step) -> Any:
        if isinstance(step, Pause):
            return await asyncio.sleep(step.seconds)
        if isinstance(step, LocalWork):
            return await asyncio.to_thread(step.function)
        if isinstance(step, Download):
            return await self._download(step)
        if isinstance(step, Listen):
            return await self._listen(step)
        content = _in_threads(step.content()) if step.content is not None else None
        with answers_required(self.url):
            if isinstance(step, StoreRequest):
                import httpx  # noqa: PLC0415

                async with httpx.AsyncClient() as store:
                    return await store.request(step.method, step.path, content=content, **step.options())
            return require_success(await self._http.request(step.method, step.path, content=content, **step.options()))

    async def _download(self, step: Download) -> None:
        async with self._stream(step.path, {}, DOWNLOAD_SILENCE_SECONDS) as answer:
            with ArrivingFile(step.to, step.sha256) as file:
                async for chunk in answer.aiter_bytes():
                    await asyncio.to_thread(file.write, chunk)

    async def _listen(self, step: Listen) -> int:
        async with self._stream(step.path, step.headers, step.silence) as answer:
            async for line in answer.aiter_lines():
                if step.read(line):
                    break
            return answer.status_code

    @asynccontextmanager
    async def _stream(self, path: str, headers: Mapping[str, str], silence: float) -> AsyncIterator["httpx.Response"]:
        with answers_required(self.url):
            async with self._http.stream("GET", path, **stream_options(headers, silence)) as answer:
                if not answer.is_success:
                    await answer.aread()
                yield require_success(answer)


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Read each chunk in a thread, so that the loop continues meanwhile."""
    while chunk := await asyncio.to_thread(next, chunks, b""):
        yield chunk
