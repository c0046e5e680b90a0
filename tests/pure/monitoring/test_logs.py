"""Structured logs: the fields of a line. No traceback is written twice or with the values of variables."""

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest

from scorer.monitoring import logs


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restore the loggers after each test."""
    names = (None, "uvicorn", "uvicorn.error", logs.ACCESS_LOGGER, *logs.CHATTY)
    loggers = [logging.getLogger(name) for name in names]
    before = [(logger.handlers, logger.level, logger.propagate) for logger in loggers]
    yield
    for logger, (handlers, level, propagate) in zip(loggers, before, strict=True):
        logger.handlers, logger.propagate = handlers, propagate
        logger.setLevel(level)
    logging.captureWarnings(capture=False)


def fail() -> None:
    raise ValueError("unexpected")


def parse_lines(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_line_is_json_with_the_ids_of_its_job() -> None:
    out = io.StringIO()
    logs.configure_logging("INFO", stream=out)
    log = logging.getLogger("worker.dispatch")
    with logs.log_context(job_id=7, submission_id="abc", track_id=None):
        log.info("job %s starts", 7, extra={"attempt": 1})
    log.info("idle")
    within, after = parse_lines(out)
    assert within.pop("timestamp").endswith("Z")
    assert within == {
        "event": "job 7 starts",
        "level": "info",
        "logger": "worker.dispatch",
        "job_id": 7,
        "submission_id": "abc",
        "attempt": 1,
    }
    assert "job_id" not in after


def test_an_error_is_one_line_with_one_traceback() -> None:
    out = io.StringIO()
    logs.configure_logging("INFO", stream=out)
    secret = "a password"
    try:
        fail()
    except ValueError:
        logging.getLogger("uvicorn.error").exception("Exception in ASGI application\n")
    (line,) = parse_lines(out)
    assert line["exception"].count("Traceback") == 1
    assert secret not in line["exception"]


def test_a_terminal_gets_text_without_the_values_of_variables() -> None:
    out = Terminal()
    logs.configure_logging("INFO", stream=out)
    secret = "".join(["a ", "password"])
    try:
        fail()
    except ValueError:
        logging.getLogger("api").exception("it failed")
    assert "it failed" in out.getvalue()
    assert out.getvalue().count("Traceback") == 1
    assert secret not in out.getvalue()
    assert not out.getvalue().startswith("{")


def test_the_format_can_be_set() -> None:
    for stream, log_format, begins in ((Terminal(), "json", True), (io.StringIO(), "text", False)):
        logs.configure_logging("INFO", log_format, stream=stream)  # type: ignore[arg-type]
        logging.getLogger("api").info("hello")
        assert stream.getvalue().startswith("{") is begins


def test_the_level_applies_to_all_loggers_and_libraries_log_less() -> None:
    out = io.StringIO()
    logs.configure_logging("INFO", stream=out)
    for name in ("scorer.jobs", "celery.worker", "uvicorn.error"):
        logging.getLogger(name).info("a step")
        logging.getLogger(name).warning("a fault")
    logged = [(line["logger"], line["level"]) for line in parse_lines(out)]
    assert logged == [
        ("scorer.jobs", "info"),
        ("scorer.jobs", "warning"),
        ("celery.worker", "warning"),
        ("uvicorn.error", "info"),
        ("uvicorn.error", "warning"),
    ]
    logs.configure_logging("ERROR", stream=out)
    for name in ("scorer.jobs", "celery.worker"):
        logging.getLogger(name).warning("a fault")
    assert len(parse_lines(out)) == len(logged)


def test_uvicorn_writes_no_line_for_a_request() -> None:
    """Uvicorn checks for handlers before it formats an access log line."""
    logs.configure_logging("INFO", stream=io.StringIO())
    assert not logging.getLogger(logs.ACCESS_LOGGER).hasHandlers()
