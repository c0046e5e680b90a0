"""Redis that is away or silent: requests go on at once, and nothing is lost."""

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
from tests.factories import let_time_pass, noise_images, zip_of
from tests.flaky_proxy import FlakyProxy
from worker.maintenance import sweeper

MAX_SECONDS = 0.5
"""What an absent Redis may cost a request."""


@pytest.fixture
def slug(service: Service) -> str:
    return service.competition()


@pytest.fixture
def proxy(service: Service) -> Any:
    """A proxy before Redis, which the service's messages and rate limits go through."""
    url = urlsplit(service.context.settings.redis_url.get_secret_value())
    proxy = FlakyProxy([f"http://127.0.0.1:{url.port}"], after=0, cuts=0)
    with proxy.running() as address:
        through = url._replace(netloc=f"{url.netloc.rpartition(':')[0]}:{urlsplit(address).port}").geturl()
        use_redis(service, through)
        yield proxy
        proxy.silent = False
        proxy.close_connections()


def use_redis(service: Service, url: str) -> None:
    """Let the web process use this Redis."""
    settings = service.context.settings
    settings = settings.model_copy(update={"redis_url": type(settings.redis_url)(url)})
    service.app.state.broker = create_celery_app(settings)
    service.app.state.rates = RateLimiter(settings)
    for each in (service.app.state.rates, broker._sender):
        each._breaker = CircuitBreaker(pause=3600.0)


@pytest.fixture(autouse=True)
def fresh_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """No circuit breaker that an earlier test has tripped."""
    monkeypatch.setattr(broker, "_sender", MessageSender(broker.RUN_JOB))


def submit(service: Service, slug: str, seed: int) -> None:
    """Upload an entry, which is accepted."""
    answer = service.submit("ada", slug, zip_of(noise_images(seed)))
    assert answer.status_code == 202, answer.text


def test_a_silent_redis_is_waited_for_only_once(
    service: Service, slug: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cost 2 s for each request, and 40 s for one that queued work."""
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


def test_a_refused_connection_is_not_tried_again_at_once(
    service: Service, slug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent = []
    send = Celery.send_task

    def record(self: Celery, *args: Any, **options: Any) -> Any:
        sent.append(args)
        return send(self, *args, **options)

    monkeypatch.setattr(Celery, "send_task", record)
    use_redis(service, f"redis://127.0.0.1:{free_port()}/0")
    # kombu itself would try for six seconds
    service.app.state.broker.conf.broker_transport_options |= {"max_retries": 1, "interval_start": 0}
    for seed in (10, 11, 12):
        submit(service, slug, seed)
        while broker._sender._sending_since is not None:
            time.sleep(0.01)  # until the server has refused it
    assert len(sent) == 1, "the first one tripped the circuit breaker"


def test_what_was_not_sent_is_sent_by_the_sweep(
    service: Service, slug: str, proxy: FlakyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    proxy.silent = True
    submit(service, slug, 10)
    monkeypatch.setattr(broker, "_sender", MessageSender(broker.RUN_JOB))  # the sweep runs in another process
    sweeper.sweep_once(service.context)
    assert waiting_messages(service.context.broker)[Queue.CHECK] == 1
    service.run_jobs()


def test_expired_leases_are_freed_while_redis_is_away(service: Service, slug: str) -> None:
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


def test_many_messages_are_no_failure(monkeypatch: pytest.MonkeyPatch) -> None:
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
