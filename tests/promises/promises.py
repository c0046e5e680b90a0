"""The promises: each has a sentence, a test that tries to break it, and the guard that the test depends on."""

import hashlib
from dataclasses import dataclass


@dataclass(frozen=True)
class Promise:
    """A promise. ``file`` has the text ``guard`` once. With ``without`` in its place, ``test`` (a pytest node) fails.
    ``kinds`` are the faults of :mod:`tests.faults.rounds` that also try to break it."""

    promise: str
    test: str
    file: str
    guard: str
    without: str
    kinds: tuple[str, ...] = ()
    more: tuple[tuple[str, str, str], ...] = ()
    """Further guards (file, guard, without). The promise breaks only without all of them."""

    @property
    def guards(self) -> list[tuple[str, str, str]]:
        """(file, guard, without) of each guard."""
        return [(self.file, self.guard, self.without), *self.more]

    @property
    def fingerprint(self) -> str:
        """The key of a result, which changes with the test and the guards."""
        return hashlib.sha256(repr((self.test, self.guards)).encode()).hexdigest()[:16]


KILLS = ("kill-worker", "kill-job-process", "away-workers")
JOBS = "tests/db/jobs/test_jobs.py"
HEALTH = "tests/worker/scoring/test_worker_health.py"
RECORDING = "tests/worker/scoring/test_recording.py"
UPLOADS = "tests/api/submissions/test_uploads.py"
RESUMABLE = "tests/api/submissions/test_resumable.py"
CLEANUP = "tests/api/submissions/test_cleanup.py"
BROKER = "tests/api/submissions/test_absent_broker.py"
SERVERS = "tests/faults/test_database_servers.py"
QUOTAS = "tests/api/teams/test_quotas.py"
HOLDER = "Job.id == job_id, Job.holder == held_by, Job.state == JobState.RUNNING)"

PROMISES = (
    Promise(
        "An entry is measured once on each track even if its worker is killed.",
        "tests/faults/test_rounds.py::test_every_promise_holds_after[1-kill-job-process]",
        "scorer/jobs/sweeps.py",
        "    expired = job_queue.lock_expired(session)\n",
        "    expired: list[Job] = []\n",
        KILLS,
    ),
    Promise(
        "A worker that stalls past its lease and then resumes records nothing.",
        f"{JOBS}::test_a_score_is_recorded_once_and_only_by_its_holder",
        "scorer/db/jobs/job_queue.py",
        HOLDER,
        "Job.id == job_id)",
        ("worker-wakes-up", "silent-worker"),
    ),
    Promise(
        "A result is recorded once even if the acknowledgement of its COMMIT is lost.",
        f"{RECORDING}::test_a_commit_without_an_acknowledgement_is_recorded_once",
        "scorer/db/jobs/job_queue.py",
        HOLDER,
        "Job.id == job_id)",
        ("commit-not-acknowledged",),
        more=(
            (
                "migrations/versions/0100_initial.sql",
                " CONSTRAINT uq_measurements_job_id UNIQUE",
                "",
            ),
            (
                "scorer/db/submissions/submissions.py",
                "    is_there = (Submission.ref == ref) & (Submission.status == from_)\n",
                "    is_there = Submission.ref == ref\n",
            ),
        ),
    ),
    Promise(
        "While the database is busy or away, a result's recording is retried, not its computation.",
        f"{RECORDING}::test_recording_waits_until_a_lock_is_free",
        "worker/runtime/recording.py",
        "        except UNAVAILABLE as error:",
        "        except ZeroDivisionError as error:",
        ("away-postgres", "silent-postgres", "commit-not-arrived"),
    ),
    Promise(
        "A lost message delays its job at most until the next sweep.",
        f"{BROKER}::test_the_sweep_sends_lost_messages",
        "scorer/jobs/sweeps.py",
        "        if missing > 0:",
        "        if missing < 0:",
        ("broker-flushed", "messages-lost", "messages-late"),
    ),
    Promise(
        "Expired leases are freed even while the queue server is away.",
        f"{BROKER}::test_expired_leases_are_freed_without_redis",
        "worker/maintenance/sweeper.py",
        "    with context.transaction() as session:\n        done = sweeps",
        "    waiting_messages(context.broker)\n    with context.transaction() as session:\n        done = sweeps",
        ("away-redis", "silent-redis", "kill-redis"),
    ),
    Promise(
        "A database outage longer than a lease costs no attempt.",
        "tests/db/jobs/test_lease_sweep.py::test_leases_that_expired_during_an_outage_are_extended",
        "scorer/jobs/sweeps.py",
        "since_sweep is not None and since_sweep >",
        "since_sweep is not None and since_sweep <",
        ("away-postgres", "silent-postgres", "kill-postgres"),
    ),
    Promise(
        "A worker that stops receiving messages is restarted.",
        "tests/worker/scoring/test_consumption.py::test_only_an_idle_worker_with_waiting_messages_is_stuck",
        "worker/runtime/consumption.py",
        "self._checks + 1 if is_suspect else 0",
        "0",
        ("kill-redis", "away-redis", "silent-redis"),
    ),
    Promise(
        "An absent queue server delays a request by a quarter of a second, once.",
        f"{BROKER}::test_a_refused_connection_is_not_retried_immediately",
        "scorer/jobs/broker.py",
        "                self._breaker.trip()\n",
        "",
        ("away-redis", "silent-redis"),
    ),
    Promise(
        "An accepted zip survives a lost acknowledgement of its COMMIT.",
        f"{UPLOADS}::test_an_accepted_zip_stays_if_its_commit_is_not_acknowledged",
        "api/http/received_blobs.py",
        "        except KennelError:\n            store.discard([received.key])",
        "        except Exception:\n            store.discard([received.key])",
        ("commit-not-acknowledged",),
    ),
    Promise(
        "Each piece of a resumable upload survives a lost acknowledgement of its COMMIT.",
        f"{RESUMABLE}::test_a_piece_is_stored_if_its_commit_is_not_acknowledged",
        "scorer/submissions/upload_bytes.py",
        "        except KennelError:\n            await self._discard()",
        "        except Exception:\n            await self._discard()",
        ("commit-not-acknowledged",),
    ),
    Promise(
        "A repeated request with the same Idempotency-Key creates no second entry.",
        f"{UPLOADS}::test_a_request_can_be_repeated_after_the_close",
        "scorer/submissions/intake.py",
        "    earlier = _repeated(acting.session, state, entry, account=acting.actor)\n"
        "    if earlier is not None:\n        if earlier.sha",
        "    earlier: Submission | None = None\n    if earlier is not None:\n        if earlier.sha",
        ("kill-web", "away-web", "commit-not-acknowledged"),
    ),
    Promise(
        "Two requests that finish an upload at the same time create one entry.",
        f"{RESUMABLE}::test_two_parallel_finishes_create_one_submission",
        "scorer/submissions/uploads.py",
        '    if not rows.close_upload(session, upload.id, to="done", submission_ref=submission.ref):\n'
        "        raise taken_over_error()\n",
        '    rows.close_upload(session, upload.id, to="done", submission_ref=submission.ref)\n',
        ("kill-web",),
    ),
    Promise(
        "A hanging request adds nothing to an upload that a newer request continues.",
        f"{RESUMABLE}::test_a_newer_request_takes_over_from_a_hanging_one",
        "scorer/db/submissions/uploads.py",
        "(Upload.writer == writer) & (Upload.received == offset)",
        "RECEIVING",
        ("silent-web",),
    ),
    Promise(
        "An upload that was complete when its web process was killed becomes an entry.",
        f"{CLEANUP}::test_a_complete_upload_of_a_killed_server_becomes_a_submission",
        "scorer/submissions/uploads.py",
        "    return rows.next_unfinished_upload(session, now - lease)",
        "    return None",
        ("kill-web",),
    ),
    Promise(
        "Blobs without a row are removed, and no others.",
        f"{CLEANUP}::test_blobs_without_a_row_are_deleted_and_others_stay",
        "worker/maintenance/cleanup.py",
        '    for folder in ("uploads", SELF_TESTS, *FOLDERS):',
        '    for folder in ("uploads", SELF_TESTS):',
        ("kill-web", "kill-worker", "full-blobs"),
    ),
    Promise(
        "A zip that changes in the store is Kennel's fault, never the team's.",
        "tests/worker/scoring/test_damaged_zips.py::test_a_damaged_zip_costs_the_team_nothing",
        "worker/runtime/decoded_images.py",
        "    blobs.require_unchanged(stored.key, stored.sha256)\n",
        "",
        ("blob-altered", "blob-missing"),
    ),
    Promise(
        "Parallel uploads do not exceed a limit.",
        f"{QUOTAS}::test_two_hundred_parallel_posts_leave_exactly_the_limit",
        "scorer/db/teams/members.py",
        "teams.with_for_update(key_share=True)",
        "teams",
        ("kill-web", "commit-not-acknowledged"),
    ),
    Promise(
        "A worker and a simultaneous cancellation agree on the outcome.",
        f"{QUOTAS}::test_no_worker_starts_an_entry_that_is_being_cancelled",
        "scorer/submissions/outcomes.py",
        "    job_queue.lock_unfinished(acting.session, submission.ref)\n",
        "",
    ),
    Promise(
        "A machine's wrong clock does not affect jobs or leases.",
        f"{JOBS}::test_a_machines_wrong_clock_changes_nothing",
        "scorer/db/jobs/job_queue.py",
        "            lease_until=func.now() + bindparam(",
        '            lease_until=bindparam("at", type_=Job.started_at.type) + bindparam(',
        ("clock-ahead", "clock-behind"),
    ),
    Promise(
        "A worker with a wrong clock does not start.",
        "tests/worker/scoring/test_startup.py::test_a_wrong_clock_stops_a_worker",
        "scorer/db/session.py",
        "    if abs(skew) > MAX_SKEW:",
        "    if abs(skew) < timedelta():",
        ("clock-ahead", "clock-behind"),
    ),
    Promise(
        "A broken worker delays entries but fails none.",
        f"{HEALTH}::test_a_broken_worker_alone_fails_no_entry",
        "worker/dispatch.py",
        "if lacks_something or context.health.is_suspect else",
        "if lacks_something else",
        ("full-blobs", "full-scratch"),
    ),
    Promise(
        "A missing resource that the operator must provide costs an entry no attempt.",
        f"{HEALTH}::test_missing_requirements_cost_no_attempt",
        "scorer/jobs/retries.py",
        "    job.attempts -= 1\n    job.deferrals += 1\n",
        "    job.deferrals += 1\n",
        ("full-scratch",),
    ),
    Promise(
        "A stopping worker returns its job without using an attempt.",
        f"{HEALTH}::test_a_stopping_worker_requeues_its_job",
        "worker/runtime/heartbeat.py",
        "        if stopping.value:\n            raise WorkerStopping(self.job)\n",
        "",
    ),
    Promise(
        "A computing worker process that gets SIGTERM returns its job without using an attempt, and ends.",
        f"{HEALTH}::test_a_computing_worker_requeues_its_job_and_ends_on_sigterm",
        "worker/runtime/startup.py",
        "@worker_shutting_down.connect\n",
        "",
    ),
    Promise(
        "A hanging job loses its lease.",
        f"{HEALTH}::test_a_job_without_progress_loses_its_lease",
        "worker/runtime/heartbeat.py",
        "        if time.monotonic() - self._moved_at > context.settings.max_stall_seconds:",
        "        if time.monotonic() < self._moved_at:",
    ),
    Promise(
        "Every wait for a silent database ends.",
        "tests/db/test_answer_timeouts.py::test_a_wait_for_a_silent_server_ends",
        "scorer/db/answer_timeouts.py",
        "                    if deadline < now:",
        "                    if deadline < 0:",
        ("silent-postgres",),
    ),
    Promise(
        "An organizer who holds a lock blocks no worker.",
        "tests/db/test_locks.py::test_rows_that_refer_to_a_locked_row_can_be_added",
        "scorer/db/competitions.py",
        "locked.with_for_update(read=share, key_share=not share)",
        "locked.with_for_update(read=share)",
        ("close-and-publish",),
    ),
    Promise(
        "A board in memory notices every change, in any commit order.",
        "tests/api/leaderboard/test_standings.py::test_late_commits_are_not_missed",
        "scorer/db/leaderboard/changes.py",
        "    FROM (SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS horizon) AS snapshot",
        "    FROM (SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS horizon) AS snapshot",
        ("close-and-publish", "kill-postgres"),
    ),
    Promise(
        "The board matches its definition, entry by entry.",
        "tests/pure/ranking/test_vectorised.py::test_columns_are_the_readable_definition",
        "scorer/ranking/vectorised.py",
        "    in_order[tied] = ties[np.lexsort((entry.ref[ties], entry.accepted_at[ties], judged.score[ties]))]",
        "    in_order[tied] = ties[np.lexsort((entry.accepted_at[ties], entry.ref[ties], judged.score[ties]))]",
        ("close-and-publish",),
    ),
    Promise(
        "No pick changes after the last uploads may have finished.",
        "tests/api/teams/test_final_picks_and_code.py::test_picks_cannot_change_after_the_close",
        "scorer/teams/final_picks.py",
        "    if not can_be_changed(state, now):",
        "    if state.phase is Phase.DRAFT:",
        ("close-and-publish",),
    ),
    Promise(
        "A mail is sent at most once.",
        "tests/api/notifications/test_mail.py::test_a_lost_worker_causes_no_second_mail",
        "scorer/db/notifications.py",
        '    lost = {"state": MailState.UNKNOWN, "body": "", "error": error}\n',
        '    lost = {"state": MailState.WAITING}\n',
    ),
    Promise(
        "A webhook that may not have arrived is sent again with the same id.",
        "tests/worker/notifications/test_webhook_delivery.py::test_a_lost_senders_delivery_is_sent_again_with_the_same_id",
        "scorer/db/notifications.py",
        "PENDING_STATES = (DeliveryState.WAITING, DeliveryState.SENDING)",
        "PENDING_STATES = (DeliveryState.WAITING,)",
    ),
    Promise(
        "`kennel up` restarts a killed PostgreSQL with its data.",
        f"{SERVERS}::test_a_killed_server_is_started_again_with_its_data[postgres]",
        "deploy/standalone/postgres.py",
        "            restart=self._durable,",
        "            restart=False,",
        ("kill-postgres", "full-database"),
    ),
    Promise(
        "`kennel up` restarts a killed queue server with its messages.",
        f"{SERVERS}::test_a_killed_server_is_started_again_with_its_data[redis]",
        "deploy/standalone/redis.py",
        "                restart=self._durable,",
        "                restart=False,",
        ("kill-redis",),
    ),
)
