"""Faults of the queue server: it refuses writes or is flushed, and messages are lost, duplicated or late."""

import time
from contextlib import suppress

from redis import RedisError

from scorer.lifecycle import Queue
from tests.faults.rounds.situation import Situation
from tests.faults.rounds.stack import WORKERS

QUEUES = [queue.value for queue in Queue] + ["sweep", "uploads"]
LOSING_SECONDS = 2.0


def flush(situation: Situation) -> None:
    """Flush the queue server, once or 20 times."""
    situation.reach()
    times = situation.rng.choice((1, 1, 20))
    for _ in range(times):
        with suppress(RedisError), situation.stack.redis() as client:
            client.flushall()
        time.sleep(0.1 if times > 1 else 0)
    situation.log.append(f"flushed {times} times")


def lose_messages(situation: Situation) -> None:
    """Remove every waiting message for ``LOSING_SECONDS``."""
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
    """Add two copies of every waiting message for ``LOSING_SECONDS``."""
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
    situation.log.append(f"{doubled} extra messages")


def delay_messages(situation: Situation) -> None:
    """Hold messages back until their jobs are done or were announced again, then deliver all of them."""
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


def refuse_writes(situation: Situation) -> None:
    """Let the queue server refuse writes during the outage, as a replica or as a server without replicas.

    The boards stay readable, and no worker ends.
    """
    situation.reach()
    running = situation.stack.running(WORKERS)
    is_replica = situation.rng.random() < 0.5
    with situation.stack.redis() as client:
        if is_replica:
            client.replicaof("127.0.0.1", "1")
        else:
            client.config_set("min-replicas-to-write", 1)
    try:
        situation.last_readable()
    finally:
        with situation.stack.redis() as client:
            client.replicaof("NO", "ONE")
            client.config_set("min-replicas-to-write", 0)
    if situation.stack.running(WORKERS) != running:
        raise AssertionError("a worker has ended")
    how = "as a replica" if is_replica else "without replicas"
    situation.log.append(f"the queue server read-only for {situation.outage:.1f} s, {how}")


KINDS = {
    "broker-flushed": flush,
    "messages-lost": lose_messages,
    "messages-doubled": double_messages,
    "messages-late": delay_messages,
    "read-only-redis": refuse_writes,
}
