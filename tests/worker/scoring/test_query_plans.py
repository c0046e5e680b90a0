"""Nothing that workers do for an entry, or again and again, reads a table that grows from end to end."""

from dataclasses import replace
from datetime import timedelta

from tests import sql_statements
from tests.api.conftest import Service
from tests.factories import noise_images, zip_of
from tests.sql_statements import recorded_statements
from worker.delivery.mail import send_due_mails
from worker.delivery.webhook_delivery import post_due_deliveries
from worker.maintenance import cleanup
from worker.maintenance.sweeper import sweep_once


def test_an_entry_is_checked_scored_and_examined_by_indexes(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    with recorded_statements() as statements:
        service.submit("bob", slug, zip_of(noise_images(11)))
        service.run_jobs(evidence=True)
    with service.context.sessions() as session:
        assert sql_statements.read_whole(session.connection(), statements) == {}


def test_periodic_tasks_find_their_work_by_indexes(service: Service) -> None:
    slug = service.competition()
    service.scored("ada", slug, noise_images(10))
    context = replace(service.context, settings=service.context.settings.model_copy(update={"kept_zip_days": 1}))
    later = replace(context, now=lambda: service.context.now() + timedelta(days=1000))
    with recorded_statements() as statements:
        for each in (context, later):
            sweep_once(each)
            send_due_mails(each)
            post_due_deliveries(each)
            cleanup.clean_up_uploads(each)
            cleanup.remove_orphaned_blobs(each)
            cleanup.remove_expired_rows(each)
            cleanup.remove_refused_zips(each)
            cleanup.remove_old_zips(each)
    with service.context.sessions() as session:
        assert sql_statements.read_whole(session.connection(), statements) == {}
