"""The Celery application of beat: ``celery -A worker.celery_beat beat``. It does not import the tasks."""

import os

from celery.signals import setup_logging

from scorer.jobs.broker import create_celery_app
from scorer.monitoring.logs import configure_logging
from scorer.settings import read_settings, warn_about_unknown_settings

settings = read_settings()


@setup_logging.connect
def log_as_everywhere(**_: object) -> None:
    """Log like web processes and workers, at the level of the settings, regardless of Celery's level."""
    configure_logging(settings.log_level, settings.log_format)
    warn_about_unknown_settings(os.environ)


app = create_celery_app(settings)
app.conf.update(beat_scheduler="worker.runtime.beat_scheduler:Scheduler", imports=("worker.runtime.liveness",))
