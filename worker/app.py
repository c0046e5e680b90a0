"""The Celery application of the workers: ``celery -A worker.app worker -Q check``, and ``-Q score,evidence``."""

from scorer.queue import broker
from scorer.settings import read_settings

settings = read_settings()
app = broker(settings)
app.conf.update(imports=("worker.startup", "worker.tasks"))
