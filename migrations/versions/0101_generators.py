"""Generators as entries: what a competition asks for, secrets and draws, and scores that are means over draws."""

from alembic import op

revision = "0101"
down_revision = "0100"
branch_labels = None
depends_on = None

STATEMENTS = (
    "ALTER TABLE competitions ADD COLUMN entries TEXT DEFAULT 'images' NOT NULL",
    "ALTER TABLE competitions ADD COLUMN draws JSONB DEFAULT '{}' NOT NULL",
    """ALTER TABLE competitions ADD CONSTRAINT ck_competitions_entries
    CHECK (entries IN ('images', 'generator')) NOT VALID""",
    """CREATE TABLE draw_secrets (
    competition_id BIGINT NOT NULL CONSTRAINT fk_draw_secrets_competition_id REFERENCES competitions (id),
    purpose TEXT NOT NULL,
    sealed BYTEA NOT NULL,
    sha256 TEXT NOT NULL,
    CONSTRAINT pk_draw_secrets PRIMARY KEY (competition_id, purpose),
    CONSTRAINT ck_draw_secrets_purpose CHECK (purpose IN ('public', 'private', 'late'))
)""",
    "ALTER TABLE uploads ADD COLUMN latent JSONB",
    "ALTER TABLE submissions ADD COLUMN latent JSONB",
    """CREATE TABLE checked_generators (
    submission_ref BIGINT CONSTRAINT pk_checked_generators PRIMARY KEY
        CONSTRAINT fk_checked_generators_submission_ref REFERENCES submissions (ref),
    network_sha256 TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    distribution TEXT NOT NULL,
    classes INTEGER,
    "values" TEXT NOT NULL,
    seconds DOUBLE PRECISION NOT NULL,
    fixed_images_key TEXT NOT NULL,
    same_as_ref BIGINT CONSTRAINT fk_checked_generators_same_as_ref REFERENCES submissions (ref),
    created_at TIMESTAMPTZ NOT NULL
)""",
    "CREATE INDEX ix_checked_generators_network_sha256 ON checked_generators (network_sha256)",
    "CREATE INDEX ix_checked_generators_same_as_ref ON checked_generators (same_as_ref)",
    """CREATE TABLE draws (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_draws PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_draws_submission_ref REFERENCES submissions (ref),
    track_kind TEXT NOT NULL,
    number INTEGER NOT NULL,
    blob_key TEXT,
    bytes BIGINT NOT NULL,
    sha256 TEXT,
    fault TEXT,
    removed_at TIMESTAMPTZ,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_draws_submission_ref_track_kind_number UNIQUE (submission_ref, track_kind, number),
    CONSTRAINT ck_draws_track_kind CHECK (track_kind IN ('public', 'private')),
    CONSTRAINT ck_draws_images CHECK (num_nonnulls(blob_key, fault, removed_at) = 1)
)""",
    "CREATE INDEX ix_draws_blob_key ON draws (blob_key)",
    "ALTER TABLE measurements ADD COLUMN fid_spread DOUBLE PRECISION",
    "ALTER TABLE measurements ADD COLUMN draws JSONB",
    "ALTER TABLE jobs DROP CONSTRAINT ck_jobs_queue",
    """ALTER TABLE jobs ADD CONSTRAINT ck_jobs_queue CHECK (queue IN (
    'check', 'draw', 'score', 'prepare', 'compare', 'release', 'ratings', 'evidence', 'recover', 'rescore'
    )) NOT VALID""",
    "ALTER TABLE shared_images ADD COLUMN same_latents DOUBLE PRECISION",
    "ALTER TABLE shared_images ADD COLUMN recovered DOUBLE PRECISION",
    "ALTER TABLE evidence ADD COLUMN support_size DOUBLE PRECISION",
    "ALTER TABLE evidence ADD COLUMN support_p DOUBLE PRECISION",
    "ALTER TABLE generators ADD COLUMN classes INTEGER",
    "ALTER TABLE generators ALTER COLUMN blob_key DROP NOT NULL",
    "ALTER TABLE generators DROP CONSTRAINT ck_generators_distribution",
    """ALTER TABLE generators ADD CONSTRAINT ck_generators_distribution
    CHECK (distribution IN ('normal', 'uniform', 'truncated-normal')) NOT VALID""",
    "ALTER TABLE generators VALIDATE CONSTRAINT ck_generators_distribution",
    "ALTER TABLE competitions VALIDATE CONSTRAINT ck_competitions_entries",
    "ALTER TABLE jobs VALIDATE CONSTRAINT ck_jobs_queue",
)


def upgrade() -> None:
    """Apply."""
    for statement in STATEMENTS:
        op.execute(statement)
