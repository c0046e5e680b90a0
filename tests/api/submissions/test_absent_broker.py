"""Without Redis, or with a silent one, requests do not wait and nothing is lost."""

import os
import time
from collections import Counter
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from celery import Celery

from api.http.rate_limits import REDIS_SECONDS, RateLimiter
from deploy.standalone.ports import free_port
from scorer.db.tables import Job
from scorer.jobs import broker
from scorer.jobs.broker import SEND_SECONDS, MessageSender, create_celery_app, waiting_messages
from scorer.jobs.circuit_breaker import PAUSE_SECONDS, CircuitBreaker
from scorer.lifecycle import Queue
from tests.api.conftest import Service
from tests.factories import let_time_pass, make_zip, noise_images
from tests.flaky_proxy import FlakyProxy
from worker.maintenance import sweeper

MAX_SECONDS = 0.5
"""The delay that an absent Redis may cause in a request."""


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


@pytest.fixture
def proxy(service: Service) -> Any:
    """A proxy in front of Redis for the service's messages and rate limits."""
    url = urlsplit(service.context.settings.redis_url.get_secret_value())
    proxy = FlakyProxy([f"http://127.0.0.1:{url.port}"], after=0, cuts=0)
    with proxy.running() as address:
        through = url._replace(netloc=f"{url.netloc.rpartition(':')[0]}:{urlsplit(address).port}").geturl()
        use_redis(service, through)
        yield proxy
        proxy.silent = False
        proxy.close_connections()


def use_redis(service: Service, url: str) -> None:
    """Make the web process use this Redis."""
    settings = service.context.settings
    settings = settings.model_copy(update={"redis_url": type(settings.redis_url)(url)})
    service.app.state.broker = create_celery_app(settings)
    service.app.state.rates = RateLimiter(settings)
    for client in (service.app.state.rates, broker._sender):
        client._breaker = CircuitBreaker(pause=3600.0)


@pytest.fixture(autouse=True)
def fresh_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sender with a closed circuit breaker."""
    monkeypatch.setattr(broker, "_sender", MessageSender(broker.RUN_JOB))


def submit(service: Service, slug: str, seed: int) -> None:
    answer = service.submit("ada", slug, make_zip(noise_images(seed)))
    assert answer.status_code == 202, answer.text


def test_only_the_first_request_waits_for_a_silent_redis(
    service: Service, slug: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise each request would wait 2 s, or 40 s if it queues jobs."""
    submit(service, slug, 10)
    proxy.silent = True
    submit(service, slug, 11)
    assert REDIS_SECONDS + SEND_SECONDS <= MAX_SECONDS
    assert service.app.state.rates._breaker.is_open
    monkeypatch.setattr("scorer.jobs.broker.STUCK_SECONDS", 0.0)
    assert broker._sender._is_stuck()
    connections = len(proxy._clients)
    for seed in (12, 13):
        submit(service, slug, seed)
    assert len(proxy._clients) == connections
    with service.context.sessions() as session:
        assert session.query(Job).filter_by(queue="check", state="waiting").count() == 4


def test_a_refused_connection_is_not_retried_immediately(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    send = Celery.send_task

    def record(self: Celery, *args: Any, **options: Any) -> Any:
        sent.append(args)
        return send(self, *args, **options)

    monkeypatch.setattr(Celery, "send_task", record)
    use_redis(service, f"redis://127.0.0.1:{free_port()}/0")
    # by default, kombu would try for six seconds
    service.app.state.broker.conf.broker_transport_options |= {"max_retries": 1, "interval_start": 0}
    for seed in (10, 11, 12):
        submit(service, slug, seed)
        while broker._sender._sending_since is not None:
            time.sleep(0.01)  # until the server has refused the connection
    assert len(sent) == 1, "the first message tripped the circuit breaker"


def test_the_sweep_sends_lost_messages(
    service: Service, slug: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.silent = True
    submit(service, slug, 10)
    monkeypatch.setattr(
        broker, "_sender", MessageSender(broker.RUN_JOB)
    )  # the sweep runs in another process, with its own sender
    sweeper.sweep_once(service.context)
    assert waiting_messages(service.context.broker)[Queue.CHECK] == 1
    service.run_jobs()


def test_expired_leases_are_freed_without_redis(service: Service, slug: str) -> None:
    context = service.context
    submit(service, slug, 10)
    with context.sessions.begin() as session:
        session.query(Job).update({"state": "running", "holder": "h", "attempts": 1, "lease_until": Job.due_at})
        let_time_pass(session, timedelta(minutes=1))
    settings = context.settings.model_copy(
        update={"redis_url": type(context.settings.redis_url)(f"redis://127.0.0.1:{free_port()}/0")}
    )
    context.broker = create_celery_app(settings)
    with pytest.raises(Exception, match="refused"):
        sweeper.sweep_once(context)
    with context.sessions() as session:
        assert session.query(Job).one().state == "waiting"


def test_a_circuit_breaker_opens_for_a_while() -> None:
    seconds = [0.0]
    breaker = CircuitBreaker(clock=lambda: seconds[0])
    states = [breaker.is_open]
    breaker.trip()
    for moment in (0.0, PAUSE_SECONDS - 1, PAUSE_SECONDS):
        seconds[0] = moment
        states.append(breaker.is_open)
    assert states == [False, True, True, False]


def test_many_messages_do_not_trip_the_circuit_breaker(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[str] = []

    class SlowCelery:
        def send_task(self, *_: object, queue: str, **__: object) -> None:
            sent.append(queue)
            time.sleep(0.01)

    sender = MessageSender(broker.RUN_JOB)
    app: Any = SlowCelery()
    monkeypatch.setattr("scorer.jobs.broker.SEND_SECONDS", 0.05)
    monkeypatch.setattr("scorer.jobs.broker.STUCK_SECONDS", 60.0)
    sender.send(app, Counter({Queue.CHECK: 20}))
    sender.send(app, Counter({Queue.SCORE: 1}))
    while len(sent) < 21:
        time.sleep(0.001)
    assert sent == ["check"] * 20 + ["score"]


def test_a_forked_process_sends_its_own_messages() -> None:
    sent: list[str] = []

    class Broker:
        def send_task(self, *_: object, queue: str, **__: object) -> None:
            sent.append(queue)

    app: Any = Broker()
    sender = MessageSender(broker.RUN_JOB)
    sender.send(app, Counter({Queue.CHECK: 1}))
    child = os.fork()
    if child == 0:
        sender.send(app, Counter({Queue.SCORE: 1}))
        os._exit(0 if sent == ["check", "score"] else 1)
    assert os.waitpid(child, 0)[1] == 0
