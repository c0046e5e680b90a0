"""Faults of the queue server's contents: flushed, and messages lost, doubled, late."""

import time
from contextlib import suppress

from redis import RedisError

from scorer.lifecycle import Queue
from tests.faults.rounds.situation import Situation

QUEUES = [queue.value for queue in Queue] + ["sweep", "uploads"]
LOSING_SECONDS = 2.0


def flush(situation: Situation) -> None:
    """Everything that the queue server has is gone, once or again and again."""
    situation.reach()
    times = situation.rng.choice((1, 1, 20))
    for _ in range(times):
        with suppress(RedisError), situation.stack.redis() as client:
            client.flushall()
        time.sleep(0.1 if times > 1 else 0)
    situation.log.append(f"flushed {times} times")


def lose_messages(situation: Situation) -> None:
    """Every message that waits is lost, for a while."""
    situation.reach(("receiving", "accepted", "checking"))
    lost = 0
    end = time.monotonic() + LOSING_SECONDS
    while time.monotonic() < end:
        with suppress(RedisError), situation.stack.redis() as client:
            for queue in QUEUES:
                lost += len(client.lpop(queue, 1000) or ())
        time.sleep(0.005)
    situation.log.append(f"{lost} messages lost")


def double_messages(situation: Situation) -> None:
    """Every message that waits is there three times, for a while."""
    situation.reach(("receiving", "accepted", "checking"))
    doubled = 0
    end = time.monotonic() + LOSING_SECONDS
    seen: set[bytes] = set()
    while time.monotonic() < end:
        with suppress(RedisError), situation.stack.redis() as client:
            for queue in QUEUES:
                for message in client.lrange(queue, 0, 100):
                    if message not in seen:
                        seen.add(message)
                        client.lpush(queue, message, message)
                        doubled += 2
        time.sleep(0.005)
    situation.log.append(f"{doubled} messages more")


def delay_messages(situation: Situation) -> None:
    """Messages are taken away, and all come when their work is done or long announced again."""
    situation.reach(("receiving", "accepted", "checking"))
    late: list[tuple[str, bytes]] = []
    end = time.monotonic() + LOSING_SECONDS
    while time.monotonic() < end:
        with suppress(RedisError), situation.stack.redis() as client:
            for queue in QUEUES:
                late += [(queue, message) for message in client.lpop(queue, 1000) or ()]
        time.sleep(0.005)
    situation.last()
    with suppress(RedisError), situation.stack.redis() as client:
        for queue, message in late:
            client.lpush(queue, message)
    situation.log.append(f"{len(late)} messages late by {situation.outage:.1f} s and more")


KINDS = {
    "broker-flushed": flush,
    "messages-lost": lose_messages,
    "messages-doubled": double_messages,
    "messages-late": delay_messages,
}
