"""Malformed messages on the broker end no worker and take no place of others."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
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
    """A connection as workers have it, and a client of the same server."""
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
