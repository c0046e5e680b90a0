"""The first tables, and the view ``scores``."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

from migrations.views import scores

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Apply."""
    op.create_table(
        "accounts",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("role IN ('participant', 'reviewer', 'organizer', 'admin')", name=op.f("ck_accounts_role")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_accounts")),
    )
    op.create_index("uq_accounts_handle", "accounts", [sa.literal_column("lower(handle)")], unique=True)
    op.create_table(
        "competitions",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("slug", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("image_count", sa.Integer(), nullable=False),
        sa.Column("image_size", sa.Integer(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("team_merge_deadline", sa.DateTime(timezone=True), nullable=True),
        sa.Column("closes_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("upload_grace_seconds", sa.Integer(), nullable=False),
        sa.Column("review_days", sa.Integer(), nullable=False),
        sa.Column("daily_limit", sa.Integer(), nullable=True),
        sa.Column("pending_limit", sa.Integer(), nullable=False),
        sa.Column("rejected_limit", sa.Integer(), nullable=False),
        sa.Column("final_picks", sa.Integer(), nullable=False),
        sa.Column("invitation_only", sa.Boolean(), nullable=False),
        sa.Column("prizes", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("medals", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("score_decimals", sa.Integer(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("closes_at > opens_at", name=op.f("ck_competitions_times")),
        sa.CheckConstraint("image_count > 1 AND image_size > 0", name=op.f("ck_competitions_images")),
        sa.ForeignKeyConstraint(["created_by"], ["accounts.id"], name=op.f("fk_competitions_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_competitions")),
        sa.UniqueConstraint("slug", name=op.f("uq_competitions_slug")),
    )
    op.create_table(
        "reference_sets",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("created_by", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["created_by"], ["accounts.id"], name=op.f("fk_reference_sets_created_by")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_reference_sets")),
        sa.UniqueConstraint("sha256", name=op.f("uq_reference_sets_sha256")),
        info={"append_only": True},
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("digest", sa.LargeBinary(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_tokens_account_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tokens")),
        sa.UniqueConstraint("digest", name=op.f("uq_tokens_digest")),
    )
    op.create_index(op.f("ix_tokens_account_id"), "tokens", ["account_id"], unique=False)
    op.create_table(
        "competition_references",
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("reference_set_id", sa.BigInteger(), nullable=False),
        sa.Column("attached_by", sa.BigInteger(), nullable=False),
        sa.Column("attached_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('train', 'held_out', 'private_extra')", name=op.f("ck_competition_references_role")
        ),
        sa.ForeignKeyConstraint(["attached_by"], ["accounts.id"], name=op.f("fk_competition_references_attached_by")),
        sa.ForeignKeyConstraint(
            ["competition_id"], ["competitions.id"], name=op.f("fk_competition_references_competition_id")
        ),
        sa.ForeignKeyConstraint(
            ["reference_set_id"],
            ["reference_sets.id"],
            name=op.f("fk_competition_references_reference_set_id"),
        ),
        sa.PrimaryKeyConstraint("competition_id", "role", name=op.f("pk_competition_references")),
    )
    op.create_table(
        "preparations",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("image_size", sa.Integer(), nullable=False),
        sa.Column("signed", sa.Boolean(), nullable=False),
        sa.Column("reference_set_ids", postgresql.ARRAY(sa.BigInteger()), nullable=False),
        sa.Column("held_out_set_id", sa.BigInteger(), nullable=True),
        sa.Column("count", sa.Integer(), nullable=True),
        sa.Column("dimension", sa.Integer(), nullable=True),
        sa.Column("heldout_distance", sa.Double(), nullable=True),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(
            ["held_out_set_id"], ["reference_sets.id"], name=op.f("fk_preparations_held_out_set_id")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_preparations")),
        sa.UniqueConstraint("key", name=op.f("uq_preparations_key")),
    )
    op.create_table(
        "publications",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("published", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_publications_author_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_publications_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_publications")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_publications_competition_id"), "publications", ["competition_id"], unique=False)
    op.create_table(
        "teams",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("benchmark", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_teams_competition_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_teams")),
        sa.UniqueConstraint("competition_id", "name", name=op.f("uq_teams_competition_id_name")),
    )
    op.create_index(op.f("ix_teams_competition_id"), "teams", ["competition_id"], unique=False)
    op.create_table(
        "memberships",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_memberships_account_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_memberships_competition_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_memberships_team_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_memberships")),
        sa.UniqueConstraint("competition_id", "account_id", name=op.f("uq_memberships_competition_id_account_id")),
        info={"append_only": True},
    )
    op.create_index(op.f("ix_memberships_account_id"), "memberships", ["account_id"], unique=False)
    op.create_index(op.f("ix_memberships_team_id"), "memberships", ["team_id"], unique=False)
    op.create_table(
        "submissions",
        sa.Column("ref", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("team_id", sa.BigInteger(), nullable=False),
        sa.Column("account_id", sa.BigInteger(), nullable=False),
        sa.Column("file_name", sa.Text(), nullable=False),
        sa.Column("bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("blob_key", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("faults", postgresql.ARRAY(sa.Text()), nullable=True),
        sa.Column("accepted_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("exact_copies", sa.Integer(), nullable=True),
        sa.Column("mirrored_copies", sa.Integer(), nullable=True),
        sa.Column("copied_share", sa.Double(), nullable=True),
        sa.Column("pixels_sha256", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "status IN ('received', 'checking', 'queued', 'scoring', 'scored', 'rejected', 'failed', 'cancelled')",
            name=op.f("ck_submissions_status"),
        ),
        sa.ForeignKeyConstraint(["account_id"], ["accounts.id"], name=op.f("fk_submissions_account_id")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_submissions_competition_id")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_submissions_team_id")),
        sa.PrimaryKeyConstraint("ref", name=op.f("pk_submissions")),
        sa.UniqueConstraint(
            "competition_id",
            "account_id",
            "idempotency_key",
            name=op.f("uq_submissions_competition_id_account_id_idempotency_key"),
        ),
        sa.UniqueConstraint("id", name=op.f("uq_submissions_id")),
    )
    op.create_index(
        "ix_submissions_competition",
        "submissions",
        ["competition_id", sa.literal_column("ref DESC")],
        unique=False,
    )
    op.create_index(op.f("ix_submissions_pixels_sha256"), "submissions", ["pixels_sha256"], unique=False)
    op.create_index(op.f("ix_submissions_sha256"), "submissions", ["sha256"], unique=False)
    op.create_index("ix_submissions_team", "submissions", ["team_id", "accepted_at"], unique=False)
    op.create_table(
        "tracks",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("competition_id", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("extractor", sa.Text(), nullable=False),
        sa.Column("signed", sa.Boolean(), nullable=False),
        sa.Column("epsilon", sa.Double(), nullable=False),
        sa.Column("preparation_id", sa.BigInteger(), nullable=True),
        sa.CheckConstraint("kind IN ('public', 'private')", name=op.f("ck_tracks_kind")),
        sa.CheckConstraint("epsilon > 0", name=op.f("ck_tracks_epsilon")),
        sa.ForeignKeyConstraint(["competition_id"], ["competitions.id"], name=op.f("fk_tracks_competition_id")),
        sa.ForeignKeyConstraint(["preparation_id"], ["preparations.id"], name=op.f("fk_tracks_preparation_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tracks")),
        sa.UniqueConstraint("competition_id", "kind", name=op.f("uq_tracks_competition_id_kind")),
    )
    op.create_table(
        "jobs",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=True),
        sa.Column("track_id", sa.BigInteger(), nullable=True),
        sa.Column("preparation_id", sa.BigInteger(), nullable=True),
        sa.Column("team_id", sa.BigInteger(), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("turn", sa.BigInteger(), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("stage", sa.Text(), nullable=True),
        sa.Column("fraction", sa.Double(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.CheckConstraint("(state = 'running') = (holder IS NOT NULL)", name=op.f("ck_jobs_held")),
        sa.CheckConstraint("queue IN ('check', 'score', 'prepare')", name=op.f("ck_jobs_queue")),
        sa.CheckConstraint(
            "state IN ('waiting', 'running', 'done', 'failed', 'cancelled')", name=op.f("ck_jobs_state")
        ),
        sa.ForeignKeyConstraint(["preparation_id"], ["preparations.id"], name=op.f("fk_jobs_preparation_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_jobs_submission_ref")),
        sa.ForeignKeyConstraint(["team_id"], ["teams.id"], name=op.f("fk_jobs_team_id")),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_jobs_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_jobs")),
    )
    op.create_index(op.f("ix_jobs_preparation_id"), "jobs", ["preparation_id"], unique=False)
    op.create_index(
        "ix_jobs_running",
        "jobs",
        ["lease_until"],
        unique=False,
        postgresql_where=sa.text("state = 'running'"),
    )
    op.create_index(op.f("ix_jobs_submission_ref"), "jobs", ["submission_ref"], unique=False)
    op.create_index(
        "ix_jobs_waiting",
        "jobs",
        ["queue", "priority", "turn", "id"],
        unique=False,
        postgresql_where=sa.text("state = 'waiting'"),
    )
    op.create_table(
        "labels",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')", name=op.f("ck_labels_label")
        ),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_labels_author_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_labels_submission_ref")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_labels")),
        info={"append_only": True},
    )
    op.create_index("ix_labels_newest", "labels", ["submission_ref", sa.literal_column("id DESC")], unique=False)
    op.create_table(
        "thresholds",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("tau", sa.Double(), nullable=False),
        sa.Column("method", sa.Text(), nullable=False),
        sa.Column("choice", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("author_id", sa.BigInteger(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("tau >= 0 AND tau < 'Infinity'", name=op.f("ck_thresholds_tau")),
        sa.ForeignKeyConstraint(["author_id"], ["accounts.id"], name=op.f("fk_thresholds_author_id")),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_thresholds_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_thresholds")),
        info={"append_only": True},
    )
    op.create_index("ix_thresholds_newest", "thresholds", ["track_id", sa.literal_column("id DESC")], unique=False)
    op.create_table(
        "measurements",
        sa.Column("id", sa.BigInteger(), sa.Identity(always=True), nullable=False),
        sa.Column("job_id", sa.BigInteger(), nullable=False),
        sa.Column("submission_ref", sa.BigInteger(), nullable=False),
        sa.Column("track_id", sa.BigInteger(), nullable=False),
        sa.Column("scorer_version", sa.Text(), nullable=False),
        sa.Column("fid", sa.Double(), nullable=False),
        sa.Column("memorization_distance", sa.Double(), nullable=False),
        sa.Column("distance_se", sa.Double(), nullable=True),
        sa.Column("closest_pairs", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("histogram", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("artifact_key", sa.Text(), nullable=False),
        sa.Column("provenance", postgresql.JSONB(astext_type=sa.Text()), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("fid >= 0 AND fid < 'Infinity'", name=op.f("ck_measurements_fid")),
        sa.CheckConstraint(
            "memorization_distance >= 0 AND memorization_distance <= 2", name=op.f("ck_measurements_distance")
        ),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.id"], name=op.f("fk_measurements_job_id")),
        sa.ForeignKeyConstraint(["submission_ref"], ["submissions.ref"], name=op.f("fk_measurements_submission_ref")),
        sa.ForeignKeyConstraint(["track_id"], ["tracks.id"], name=op.f("fk_measurements_track_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_measurements")),
        sa.UniqueConstraint("job_id", name=op.f("uq_measurements_job_id")),
        info={"append_only": True},
    )
    op.create_index(
        "ix_measurements_newest",
        "measurements",
        ["track_id", "submission_ref", sa.literal_column("id DESC")],
        unique=False,
    )
    op.create_index(op.f("ix_measurements_submission_ref"), "measurements", ["submission_ref"], unique=False)
    op.execute(scores("first"))


def downgrade() -> None:
    """Take back."""
    op.execute("DROP VIEW scores")
    op.drop_index(op.f("ix_measurements_submission_ref"), table_name="measurements")
    op.drop_index("ix_measurements_newest", table_name="measurements")
    op.drop_table("measurements")
    op.drop_index("ix_thresholds_newest", table_name="thresholds")
    op.drop_table("thresholds")
    op.drop_index("ix_labels_newest", table_name="labels")
    op.drop_table("labels")
    op.drop_index("ix_jobs_waiting", table_name="jobs", postgresql_where=sa.text("state = 'waiting'"))
    op.drop_index(op.f("ix_jobs_submission_ref"), table_name="jobs")
    op.drop_index("ix_jobs_running", table_name="jobs", postgresql_where=sa.text("state = 'running'"))
    op.drop_index(op.f("ix_jobs_preparation_id"), table_name="jobs")
    op.drop_table("jobs")
    op.drop_table("tracks")
    op.drop_index("ix_submissions_team", table_name="submissions")
    op.drop_index(op.f("ix_submissions_sha256"), table_name="submissions")
    op.drop_index(op.f("ix_submissions_pixels_sha256"), table_name="submissions")
    op.drop_index("ix_submissions_competition", table_name="submissions")
    op.drop_table("submissions")
    op.drop_index(op.f("ix_memberships_team_id"), table_name="memberships")
    op.drop_index(op.f("ix_memberships_account_id"), table_name="memberships")
    op.drop_table("memberships")
    op.drop_index(op.f("ix_teams_competition_id"), table_name="teams")
    op.drop_table("teams")
    op.drop_index(op.f("ix_publications_competition_id"), table_name="publications")
    op.drop_table("publications")
    op.drop_table("preparations")
    op.drop_table("competition_references")
    op.drop_index(op.f("ix_tokens_account_id"), table_name="tokens")
    op.drop_table("tokens")
    op.drop_table("reference_sets")
    op.drop_table("competitions")
    op.drop_index("uq_accounts_handle", table_name="accounts")
    op.drop_table("accounts")
