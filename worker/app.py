"""The Celery application of the workers: ``celery -A worker.app worker -Q check`` or ``-Q score,evidence``."""

from scorer.jobs.broker import create_celery_app
from scorer.settings import read_settings

settings = read_settings()
app = create_celery_app(settings)
app.conf.update(imports=("worker.runtime.startup", "worker.runtime.liveness", "worker.tasks"))
