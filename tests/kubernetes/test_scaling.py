"""KEDA's triggers find their numbers in ``/metrics`` of a service at work."""

from typing import Any

from tests.api.conftest import Service, service
from tests.api.test_probes import metrics
from tests.factories import noise_images, zip_of
from tests.kubernetes.manifests import EXAMPLE
from tests.kubernetes.test_operation import SCALED, triggers_of

__all__ = ["metrics", "service"]
AGE, JOBS = "kennel_queue_oldest_due_seconds", "kennel_queue_jobs"


def values_of(name: str, samples: Any) -> dict[tuple[str, str], float]:
    """By metric and queue: what each trigger of a worker reads."""
    return {
        (metric, labels["queue"]): samples[metric, frozenset(labels.items())]
        for metric, labels, _ in triggers_of(EXAMPLE, name)
    }


def test_a_queue_with_nothing_in_it_needs_no_pod(service: Service, metrics: Any) -> None:
    for name in SCALED:
        assert set(values_of(name, metrics()).values()) == {0.0}


def test_what_waits_starts_a_pod(service: Service, metrics: Any) -> None:
    slug = service.competition()
    assert service.submit("ada", slug, zip_of(noise_images(9))).status_code == 202
    values = values_of("worker-check", metrics())
    assert values[AGE, "check"] > 0
    assert values[JOBS, "check"] == 0
    assert values_of("worker-gpu", metrics())[AGE, "score"] == 0
