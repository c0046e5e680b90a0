"""The Celery application of the workers: ``celery -A worker.app worker -Q check`` or ``-Q score,evidence``."""

import os

from celery.signals import setup_logging

from scorer.jobs.broker import create_celery_app
from scorer.monitoring.logs import configure_logging
from scorer.process_resources import wait_passively
from scorer.settings import read_settings, warn_about_unknown_settings

wait_passively()
settings = read_settings()


@setup_logging.connect
def log_as_everywhere(**_: object) -> None:
    """Log like web processes, at the level of the settings, regardless of Celery's level."""
    configure_logging(settings.log_level, settings.log_format)
    warn_about_unknown_settings(os.environ)


app = create_celery_app(settings)
app.conf.update(
    imports=(
        "worker.runtime.startup",
        "worker.runtime.liveness",
        "worker.runtime.consumption",
        "worker.runtime.worker_report",
        "worker.runtime.malformed_messages",
        "worker.tasks",
    ),
)
