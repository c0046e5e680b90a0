"""Workers never read a whole growing table, either for an entry or in periodic tasks."""

from dataclasses import replace
from datetime import timedelta

from tests import sql_statements
from tests.api.conftest import Service
from tests.factories import make_zip, noise_images
from tests.sql_statements import recorded_statements
from worker.delivery.mail import send_due_mails
from worker.delivery.webhook_delivery import post_due_deliveries
from worker.maintenance import cleanup
from worker.maintenance.sweeper import sweep_once


def test_the_jobs_of_an_entry_use_indexes(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    with recorded_statements() as statements:
        service.submit("bob", slug, make_zip(noise_images(11)))
        service.run_jobs(evidence=True)
    with service.context.sessions() as session:
        assert sql_statements.read_whole(session.connection(), statements) == {}


def test_periodic_tasks_use_indexes(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    context = replace(service.context, settings=service.context.settings.model_copy(update={"kept_zip_days": 1}))
    later = replace(context, now=lambda: service.context.now() + timedelta(days=1000))
    with recorded_statements() as statements:
        for worker_context in (context, later):
            sweep_once(worker_context)
            send_due_mails(worker_context)
            post_due_deliveries(worker_context)
            cleanup.clean_up_uploads(worker_context)
            cleanup.remove_orphaned_blobs(worker_context)
            cleanup.remove_expired_rows(worker_context)
            cleanup.remove_refused_zips(worker_context)
            cleanup.remove_old_zips(worker_context)
    with service.context.sessions() as session:
        assert sql_statements.read_whole(session.connection(), statements) == {}
