"""Malformed messages on the broker end no worker and block no other messages."""

import json
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from unittest.mock import Mock

import pytest
from celery import Celery
from celery.signals import task_received
from celery.worker.request import Request
from kombu.entity import Queue
from redis import Redis

from deploy.standalone.ephemeral import Servers
from scorer.jobs.broker import create_celery_app
from tests.conftest import fresh_settings
from worker.runtime import malformed_messages

GOOD: dict[str, Any] = {
    "body": "W10=",
    "content-type": "application/json",
    "content-encoding": "utf-8",
    "headers": {},
    "properties": {
        "delivery_tag": "good",
        "delivery_info": {"exchange": "", "routing_key": "malformed"},
        "body_encoding": "base64",
    },
}
MALFORMED = (
    "not JSON",
    "[" * 100_000,
    json.dumps([1, 2]),
    json.dumps(7),
    json.dumps({"body": 1}),
    json.dumps({"body": 1, "properties": []}),
    json.dumps({"properties": {}}),
    json.dumps(GOOD | {"properties": {"delivery_tag": ["x"]}}),
    json.dumps(GOOD | {"properties": {"delivery_tag": "x", "delivery_info": {}}}),
    json.dumps(GOOD | {"properties": {**GOOD["properties"], "delivery_tag": True}}),
    json.dumps(GOOD | {"body": {"a": 1}}),
)
NAME = "malformed"
QUEUE: Any = Queue(NAME)  # type: ignore[no-untyped-call]


@pytest.fixture
def connection(servers: Servers, tmp_path: Any) -> Iterator[tuple[Any, Redis]]:
    """A worker's connection, and a client of the same server."""
    with fresh_settings(servers, tmp_path) as settings, Redis.from_url(settings.redis_url.get_secret_value()) as client:
        app = create_celery_app(settings)
        with app.connection_for_read() as connection:
            yield connection, client
        client.delete(NAME, "unacked", "unacked_index")
        app.close()


@pytest.mark.parametrize("message", MALFORMED, ids=range(len(MALFORMED)))
def test_a_malformed_message_is_dropped(message: str, connection: tuple[Any, Redis]) -> None:
    broker, client = connection
    received: list[Any] = []
    with (
        broker.channel() as channel,
        broker.Consumer(QUEUE, channel=channel, on_message=received.append) as consumer,
    ):
        assert isinstance(channel, malformed_messages.Channel)
        consumer.qos(prefetch_count=1)
        client.lpush(NAME, message, json.dumps(GOOD))
        while not received:
            broker.drain_events(timeout=10)
        (good,) = received
        good.ack()
    assert not client.exists(NAME, "unacked", "unacked_index")


def test_a_message_that_its_reader_cannot_use_is_dropped(connection: tuple[Any, Redis]) -> None:
    broker, client = connection
    ids: list[str] = []
    with (
        broker.channel() as channel,
        broker.Consumer(
            QUEUE, channel=channel, on_message=lambda message: ids.append(message.headers["id"])
        ) as consumer,
    ):
        consumer.qos(prefetch_count=1)
        client.lpush(NAME, json.dumps(GOOD), json.dumps(GOOD | {"headers": {"id": "x"}}))
        while not ids:
            broker.drain_events(timeout=10)
        channel.basic_ack("good")
    assert not client.exists(NAME, "unacked", "unacked_index")


@pytest.mark.parametrize("header", ["timelimit", "stamped_headers", "stamps", "group", "retries"])
def test_headers_that_kennel_does_not_send_are_ignored(header: str, connection: tuple[Any, Redis]) -> None:
    broker, client = connection
    app: Any = Celery(set_as_current=False)
    app.task(name="forged", shared=False)(_do_nothing)
    headers = {"task": "forged", "id": "x", header: [["y"], ["z"]]}
    received: list[Any] = []
    with broker.channel() as channel, broker.Consumer(QUEUE, channel=channel, on_message=received.append):
        client.lpush(NAME, json.dumps(GOOD | {"headers": headers, "body": b64encode(b"[[], {}, {}]").decode()}))
        while not received:
            broker.drain_events(timeout=10)
        request = Request(received.pop(), app=app, hostname="test")
        task_received.send(sender=None, request=request)
        pool = Mock()
        request.execute_using_pool(pool)
        channel.basic_ack("good")
    (sent,) = pool.apply_async.call_args_list
    assert (sent.kwargs["timeout"], sent.kwargs["soft_timeout"]) == (None, None)
    assert header not in sent.kwargs["args"][2]


def _do_nothing() -> None:
    """A task."""
