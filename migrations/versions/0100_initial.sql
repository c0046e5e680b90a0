-- The tables of 0.2.0, each after those that it refers to, their functions, and the view.

CREATE TABLE accounts (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_accounts PRIMARY KEY,
    handle TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL,
    email TEXT,
    password_hash TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    suspended_at TIMESTAMPTZ,
    deleted_at TIMESTAMPTZ,
    CONSTRAINT ck_accounts_role CHECK (role IN ('participant', 'organizer', 'admin'))
);
CREATE INDEX ix_accounts_admins ON accounts (id) WHERE role = 'admin';
CREATE INDEX ix_accounts_name ON accounts (lower(NORMALIZE(name, NFKC)));
CREATE UNIQUE INDEX uq_accounts_email ON accounts (lower(email));
CREATE UNIQUE INDEX uq_accounts_handle ON accounts (lower(handle));

CREATE TABLE last_sweep (
    id INTEGER CONSTRAINT pk_last_sweep PRIMARY KEY,
    swept_at TIMESTAMPTZ NOT NULL,
    extended_at TIMESTAMPTZ,
    CONSTRAINT ck_last_sweep_single CHECK (id = 1)
);

CREATE TABLE mails (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_mails PRIMARY KEY,
    recipient TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    link TEXT,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ,
    sent_at TIMESTAMPTZ,
    CONSTRAINT ck_mails_state CHECK (state IN ('waiting', 'sending', 'sent', 'failed', 'unknown', 'expired'))
);
CREATE INDEX ix_mails_faults ON mails (due_at) WHERE error IS NOT NULL;
CREATE INDEX ix_mails_recipient ON mails (lower(recipient));
CREATE INDEX ix_mails_waiting ON mails (due_at) WHERE state IN ('waiting', 'sending');

CREATE TABLE signing_keys (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_signing_keys PRIMARY KEY,
    public_key BYTEA NOT NULL,
    private_key BYTEA,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE worker_reports (
    worker TEXT CONSTRAINT pk_worker_reports PRIMARY KEY,
    version TEXT NOT NULL,
    migration TEXT NOT NULL,
    queues TEXT[] NOT NULL,
    extractors JSONB NOT NULL,
    reported_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE audit_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_audit_entries PRIMARY KEY,
    created_at TIMESTAMPTZ NOT NULL,
    actor_id BIGINT CONSTRAINT fk_audit_entries_actor_id REFERENCES accounts (id),
    action TEXT NOT NULL,
    subject TEXT NOT NULL,
    address TEXT,
    before JSONB,
    after JSONB
);
CREATE INDEX ix_audit_entries_actor_id ON audit_entries (actor_id);
CREATE INDEX ix_audit_entries_created_at ON audit_entries (created_at);
CREATE INDEX ix_audit_entries_subject ON audit_entries (subject);

CREATE TABLE competitions (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_competitions PRIMARY KEY,
    slug TEXT NOT NULL CONSTRAINT uq_competitions_slug UNIQUE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    rules TEXT NOT NULL,
    image_count INTEGER NOT NULL,
    image_size INTEGER NOT NULL,
    opens_at TIMESTAMPTZ,
    team_merge_deadline TIMESTAMPTZ,
    closes_at TIMESTAMPTZ,
    upload_grace_seconds INTEGER NOT NULL,
    review_days INTEGER NOT NULL,
    appeal_days INTEGER DEFAULT 7 NOT NULL,
    daily_limit INTEGER,
    pending_limit INTEGER NOT NULL,
    rejected_limit INTEGER NOT NULL,
    max_team_size INTEGER NOT NULL,
    final_picks INTEGER NOT NULL,
    late_submissions BOOLEAN NOT NULL,
    invitation_only BOOLEAN NOT NULL,
    prizes JSONB NOT NULL,
    medals JSONB NOT NULL,
    score_decimals INTEGER NOT NULL,
    created_by BIGINT NOT NULL CONSTRAINT fk_competitions_created_by REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    deleted_at TIMESTAMPTZ,
    CONSTRAINT ck_competitions_images CHECK (image_count > 1 AND image_size > 0),
    CONSTRAINT ck_competitions_times CHECK (closes_at > opens_at)
);

CREATE TABLE identities (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_identities PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_identities_account_id REFERENCES accounts (id),
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_identities_issuer_subject UNIQUE (issuer, subject)
);
CREATE INDEX ix_identities_account_id ON identities (account_id);

CREATE TABLE known_devices (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_known_devices PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_known_devices_account_id REFERENCES accounts (id),
    digest BYTEA NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_known_devices_account_id_digest UNIQUE (account_id, digest)
);

CREATE TABLE mail_choices (
    account_id BIGINT NOT NULL CONSTRAINT fk_mail_choices_account_id REFERENCES accounts (id),
    kind TEXT NOT NULL,
    mailed BOOLEAN NOT NULL,
    CONSTRAINT pk_mail_choices PRIMARY KEY (account_id, kind)
);

CREATE TABLE notices (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_notices PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_notices_account_id REFERENCES accounts (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    link TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    read_at TIMESTAMPTZ
);
CREATE INDEX ix_notices_account ON notices (account_id, id DESC);
CREATE INDEX ix_notices_unread ON notices (account_id) WHERE read_at IS NULL;

CREATE TABLE one_time_links (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_one_time_links PRIMARY KEY,
    digest BYTEA NOT NULL CONSTRAINT uq_one_time_links_digest UNIQUE,
    purpose TEXT NOT NULL,
    account_id BIGINT CONSTRAINT fk_one_time_links_account_id REFERENCES accounts (id),
    email TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    used_at TIMESTAMPTZ,
    CONSTRAINT ck_one_time_links_purpose CHECK (purpose IN ('reset', 'confirmation', 'invitation', 'sign-in'))
);
CREATE INDEX ix_one_time_links_account_id ON one_time_links (account_id);
CREATE INDEX ix_one_time_links_email ON one_time_links (lower(email));

CREATE TABLE reference_sets (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_reference_sets PRIMARY KEY,
    sha256 TEXT NOT NULL CONSTRAINT uq_reference_sets_sha256 UNIQUE,
    bytes BIGINT NOT NULL,
    blob_key TEXT NOT NULL,
    created_by BIGINT NOT NULL CONSTRAINT fk_reference_sets_created_by REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE second_factors (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_second_factors PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_second_factors_account_id REFERENCES accounts (id),
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    credential_id BYTEA,
    secret BYTEA NOT NULL,
    counter BIGINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_second_factors_kind CHECK (kind IN ('totp', 'passkey', 'recovery_code'))
);
CREATE INDEX ix_second_factors_account_id ON second_factors (account_id);

CREATE TABLE tokens (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_tokens PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_tokens_account_id REFERENCES accounts (id),
    digest BYTEA NOT NULL CONSTRAINT uq_tokens_digest UNIQUE,
    name TEXT NOT NULL,
    scopes TEXT[] NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    last_used_at TIMESTAMPTZ,
    revoked_at TIMESTAMPTZ
);
CREATE INDEX ix_tokens_account_id ON tokens (account_id);

CREATE TABLE web_sessions (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_web_sessions PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_web_sessions_account_id REFERENCES accounts (id),
    digest BYTEA NOT NULL CONSTRAINT uq_web_sessions_digest UNIQUE,
    address TEXT NOT NULL,
    agent TEXT NOT NULL,
    awaits_second_factor BOOLEAN DEFAULT false NOT NULL,
    challenge BYTEA,
    totp_key TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    last_seen_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ
);
CREATE INDEX ix_web_sessions_account_id ON web_sessions (account_id);

CREATE TABLE announcements (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_announcements PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_announcements_competition_id REFERENCES competitions (id),
    title TEXT NOT NULL,
    text TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_announcements_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_announcements_newest ON announcements (competition_id, id DESC);

CREATE TABLE comparisons (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_comparisons PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_comparisons_competition_id REFERENCES competitions (id),
    preparation_ids BIGINT[] NOT NULL,
    early_labels BOOLEAN NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_comparisons_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_comparisons_competition_id ON comparisons (competition_id);

CREATE TABLE competition_references (
    competition_id BIGINT NOT NULL CONSTRAINT fk_competition_references_competition_id REFERENCES competitions (id),
    role TEXT NOT NULL,
    reference_set_id BIGINT NOT NULL CONSTRAINT fk_competition_references_reference_set_id
        REFERENCES reference_sets (id),
    extractor TEXT,
    attached_by BIGINT NOT NULL CONSTRAINT fk_competition_references_attached_by REFERENCES accounts (id),
    attached_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_competition_references PRIMARY KEY (competition_id, role),
    CONSTRAINT ck_competition_references_role
        CHECK (role IN ('train', 'held_out', 'private_extra', 'public_features', 'private_features'))
);

CREATE TABLE competition_roles (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_competition_roles PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_competition_roles_competition_id REFERENCES competitions (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_competition_roles_account_id REFERENCES accounts (id),
    role TEXT NOT NULL,
    author_id BIGINT CONSTRAINT fk_competition_roles_author_id REFERENCES accounts (id),
    offered_at TIMESTAMPTZ NOT NULL,
    accepted_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_competition_roles_role CHECK (role IN ('organizer', 'reviewer'))
);
CREATE INDEX ix_competition_roles_account_id ON competition_roles (account_id);
CREATE UNIQUE INDEX uq_competition_roles_person ON competition_roles (competition_id, account_id)
    WHERE ended_at IS NULL;

CREATE TABLE data_files (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_data_files PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_data_files_competition_id REFERENCES competitions (id),
    name TEXT NOT NULL,
    offered BOOLEAN NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    crc32 BIGINT NOT NULL,
    blob_key TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_data_files_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_data_files_bytes CHECK (bytes > 0),
    CONSTRAINT ck_data_files_crc32 CHECK (crc32 BETWEEN 0 AND 4294967295)
);
CREATE INDEX ix_data_files_newest ON data_files (competition_id, name, id DESC);
CREATE INDEX ix_data_files_sha256 ON data_files (sha256);

CREATE TABLE allowlist_entries (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_allowlist_entries PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_allowlist_entries_competition_id REFERENCES competitions (id),
    account_id BIGINT CONSTRAINT fk_allowlist_entries_account_id REFERENCES accounts (id),
    email TEXT,
    invited BOOLEAN NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_allowlist_entries_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_allowlist_entries_email CHECK (email = lower(email)),
    CONSTRAINT ck_allowlist_entries_who CHECK (num_nonnulls(account_id, email) = 1)
);
CREATE INDEX ix_allowlist_entries_newest_account ON allowlist_entries (competition_id, account_id, id DESC);
CREATE INDEX ix_allowlist_entries_newest_email ON allowlist_entries (competition_id, email, id DESC);

CREATE TABLE pauses (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_pauses PRIMARY KEY,
    queue TEXT,
    competition_id BIGINT CONSTRAINT fk_pauses_competition_id REFERENCES competitions (id),
    worker TEXT,
    paused BOOLEAN NOT NULL,
    reason TEXT NOT NULL,
    author_id BIGINT CONSTRAINT fk_pauses_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_pauses_subject CHECK (num_nonnulls(queue, competition_id, worker) = 1)
);
CREATE INDEX ix_pauses_subject ON pauses (queue, competition_id, worker, id DESC);

CREATE TABLE preparations (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_preparations PRIMARY KEY,
    key TEXT NOT NULL CONSTRAINT uq_preparations_key UNIQUE,
    extractor TEXT NOT NULL,
    image_size INTEGER NOT NULL,
    signed BOOLEAN NOT NULL,
    reference_set_ids BIGINT[] NOT NULL,
    held_out_set_id BIGINT CONSTRAINT fk_preparations_held_out_set_id REFERENCES reference_sets (id),
    count INTEGER,
    dimension INTEGER,
    held_out_distance DOUBLE PRECISION,
    provenance JSONB,
    created_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ
);

CREATE TABLE publications (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_publications PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_publications_competition_id REFERENCES competitions (id),
    published BOOLEAN NOT NULL,
    final BOOLEAN DEFAULT true NOT NULL,
    reason TEXT NOT NULL,
    as_of TIMESTAMPTZ DEFAULT now() NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_publications_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_publications_competition_id ON publications (competition_id);

CREATE TABLE rating_studies (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rating_studies PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_rating_studies_competition_id REFERENCES competitions (id),
    submission_refs BIGINT[] NOT NULL,
    images INTEGER NOT NULL,
    grids INTEGER NOT NULL,
    side INTEGER NOT NULL,
    wanted INTEGER NOT NULL,
    seed BIGINT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_rating_studies_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    packed_at TIMESTAMPTZ,
    ended_at TIMESTAMPTZ,
    CONSTRAINT ck_rating_studies_counts CHECK (images >= 0 AND grids >= 0 AND images + grids > 0),
    CONSTRAINT ck_rating_studies_shape CHECK (side BETWEEN 2 AND 10 AND wanted > 0)
);
CREATE INDEX ix_rating_studies_competition_id ON rating_studies (competition_id);

CREATE TABLE releases (
    id TEXT CONSTRAINT pk_releases PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_releases_competition_id REFERENCES competitions (id),
    images TEXT NOT NULL,
    key BYTEA NOT NULL,
    files JSONB,
    sha256 TEXT,
    author_id BIGINT NOT NULL CONSTRAINT fk_releases_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    CONSTRAINT ck_releases_finished CHECK ((finished_at IS NULL) = (files IS NULL)),
    CONSTRAINT ck_releases_images CHECK (images IN ('none', 'ranked', 'all'))
);
CREATE INDEX ix_releases_competition ON releases (competition_id, created_at DESC);

CREATE TABLE rules_acceptances (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rules_acceptances PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_rules_acceptances_competition_id REFERENCES competitions (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_rules_acceptances_account_id REFERENCES accounts (id),
    rules_sha256 TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_rules_acceptances_competition_id_account_id_rules_sha256 UNIQUE (competition_id, account_id,
        rules_sha256)
);
CREATE INDEX ix_rules_acceptances_account_id ON rules_acceptances (account_id);

CREATE TABLE teams (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_teams PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_teams_competition_id REFERENCES competitions (id),
    name TEXT NOT NULL,
    benchmark BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_teams_competition_id_name UNIQUE (competition_id, name)
);
CREATE INDEX ix_teams_competition_id ON teams (competition_id);
CREATE INDEX ix_teams_name ON teams (competition_id, lower(NORMALIZE(name, NFKC)));

CREATE TABLE memberships (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_memberships PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_memberships_competition_id REFERENCES competitions (id),
    team_id BIGINT NOT NULL CONSTRAINT fk_memberships_team_id REFERENCES teams (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_memberships_account_id REFERENCES accounts (id),
    joined BOOLEAN NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_memberships_account_id ON memberships (account_id);
CREATE INDEX ix_memberships_newest ON memberships (competition_id, account_id, id DESC);
CREATE INDEX ix_memberships_team_id ON memberships (team_id);

CREATE TABLE pick_sets (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_pick_sets PRIMARY KEY,
    team_id BIGINT NOT NULL CONSTRAINT fk_pick_sets_team_id REFERENCES teams (id),
    submission_refs BIGINT[] NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_pick_sets_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_pick_sets_author_id ON pick_sets (author_id);
CREATE INDEX ix_pick_sets_newest ON pick_sets (team_id, id DESC);

CREATE TABLE raters (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_raters PRIMARY KEY,
    study_id BIGINT NOT NULL CONSTRAINT fk_raters_study_id REFERENCES rating_studies (id),
    account_id BIGINT CONSTRAINT fk_raters_account_id REFERENCES accounts (id),
    digest BYTEA CONSTRAINT uq_raters_digest UNIQUE,
    name TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ,
    CONSTRAINT uq_raters_study_id_account_id UNIQUE (study_id, account_id),
    CONSTRAINT ck_raters_known CHECK ((account_id IS NULL) <> (digest IS NULL))
);

CREATE TABLE release_acts (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_release_acts PRIMARY KEY,
    release_id TEXT NOT NULL CONSTRAINT fk_release_acts_release_id REFERENCES releases (id),
    shown BOOLEAN NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_release_acts_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_release_acts_newest ON release_acts (release_id, id DESC);

CREATE TABLE shown_tracks (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_shown_tracks PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_shown_tracks_competition_id REFERENCES competitions (id),
    name TEXT NOT NULL,
    metric TEXT NOT NULL,
    constants JSONB NOT NULL,
    extractor TEXT NOT NULL,
    reference TEXT NOT NULL,
    visibility TEXT NOT NULL,
    preparation_id BIGINT CONSTRAINT fk_shown_tracks_preparation_id REFERENCES preparations (id),
    author_id BIGINT NOT NULL CONSTRAINT fk_shown_tracks_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    removed_at TIMESTAMPTZ,
    CONSTRAINT ck_shown_tracks_reference CHECK (reference IN ('public', 'private')),
    CONSTRAINT ck_shown_tracks_visibility CHECK (visibility IN ('everybody', 'organizers'))
);
CREATE INDEX ix_shown_tracks_preparation_id ON shown_tracks (preparation_id);
CREATE UNIQUE INDEX uq_shown_tracks_name ON shown_tracks (competition_id, name) WHERE removed_at IS NULL;

CREATE TABLE submissions (
    ref BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_submissions PRIMARY KEY,
    id TEXT NOT NULL CONSTRAINT uq_submissions_id UNIQUE,
    competition_id BIGINT NOT NULL CONSTRAINT fk_submissions_competition_id REFERENCES competitions (id),
    team_id BIGINT NOT NULL CONSTRAINT fk_submissions_team_id REFERENCES teams (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_submissions_account_id REFERENCES accounts (id),
    file_name TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT,
    note TEXT NOT NULL,
    blob_key TEXT,
    zip_removed_at TIMESTAMPTZ,
    external_id TEXT,
    idempotency_key TEXT,
    status TEXT NOT NULL,
    reason TEXT,
    faults TEXT[],
    ignored TEXT,
    accepted_at TIMESTAMPTZ NOT NULL,
    finished_at TIMESTAMPTZ,
    exact_copies INTEGER,
    mirrored_copies INTEGER,
    copied_share DOUBLE PRECISION,
    pixels_sha256 TEXT,
    late BOOLEAN NOT NULL,
    sprite_key TEXT,
    CONSTRAINT uq_submissions_competition_id_account_id_idempotency_key UNIQUE (competition_id, account_id,
        idempotency_key),
    CONSTRAINT uq_submissions_competition_id_external_id UNIQUE (competition_id, external_id),
    CONSTRAINT ck_submissions_status
        CHECK (status IN ('received', 'checking', 'queued', 'scoring', 'scored', 'rejected', 'failed', 'cancelled')),
    CONSTRAINT ck_submissions_zip
        CHECK (CASE WHEN external_id IS NULL THEN sha256 IS NOT NULL AND num_nonnulls(blob_key, zip_removed_at) = 1 ELSE
            num_nonnulls(blob_key, sha256, zip_removed_at) = 0 END)
);
CREATE INDEX ix_submissions_blob_key ON submissions (blob_key);
CREATE INDEX ix_submissions_competition ON submissions (competition_id, ref DESC);
CREATE INDEX ix_submissions_pending ON submissions (competition_id, ref)
    WHERE status IN ('received', 'checking', 'queued', 'scoring');
CREATE INDEX ix_submissions_pixels_sha256 ON submissions (pixels_sha256);
CREATE INDEX ix_submissions_removed ON submissions (competition_id) INCLUDE (bytes, zip_removed_at)
    WHERE zip_removed_at IS NOT NULL;
CREATE INDEX ix_submissions_sha256 ON submissions (sha256);
CREATE INDEX ix_submissions_sprite_key ON submissions (sprite_key);
CREATE INDEX ix_submissions_stored ON submissions (competition_id) INCLUDE (team_id, bytes) WHERE blob_key IS NOT NULL;
CREATE INDEX ix_submissions_team ON submissions (team_id, accepted_at);

CREATE TABLE team_invitations (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_team_invitations PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_team_invitations_competition_id REFERENCES competitions (id),
    team_id BIGINT NOT NULL CONSTRAINT fk_team_invitations_team_id REFERENCES teams (id),
    account_id BIGINT CONSTRAINT fk_team_invitations_account_id REFERENCES accounts (id),
    invited_team_id BIGINT CONSTRAINT fk_team_invitations_invited_team_id REFERENCES teams (id),
    invited_by BIGINT NOT NULL CONSTRAINT fk_team_invitations_invited_by REFERENCES accounts (id),
    state TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    answered_at TIMESTAMPTZ,
    answered_by BIGINT CONSTRAINT fk_team_invitations_answered_by REFERENCES accounts (id),
    CONSTRAINT ck_team_invitations_answered CHECK ((state = 'open') = (answered_at IS NULL)),
    CONSTRAINT ck_team_invitations_invited CHECK ((account_id IS NULL) <> (invited_team_id IS NULL)),
    CONSTRAINT ck_team_invitations_state CHECK (state IN ('open', 'accepted', 'declined', 'withdrawn'))
);
CREATE INDEX ix_team_invitations_account_id ON team_invitations (account_id);
CREATE INDEX ix_team_invitations_invited_by ON team_invitations (invited_by);
CREATE INDEX ix_team_invitations_invited_team_id ON team_invitations (invited_team_id);
CREATE UNIQUE INDEX uq_team_invitations_account ON team_invitations (team_id, account_id) WHERE state = 'open';
CREATE UNIQUE INDEX uq_team_invitations_team ON team_invitations (team_id, invited_team_id) WHERE state = 'open';

CREATE TABLE team_merges (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_team_merges PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_team_merges_competition_id REFERENCES competitions (id),
    team_id BIGINT NOT NULL CONSTRAINT fk_team_merges_team_id REFERENCES teams (id),
    into_team_id BIGINT NOT NULL CONSTRAINT fk_team_merges_into_team_id REFERENCES teams (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_team_merges_account_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_team_merges_two CHECK (team_id <> into_team_id)
);
CREATE INDEX ix_team_merges_competition_id ON team_merges (competition_id);
CREATE INDEX ix_team_merges_into_team_id ON team_merges (into_team_id);
CREATE INDEX ix_team_merges_newest ON team_merges (team_id, id DESC);

CREATE TABLE team_messages (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_team_messages PRIMARY KEY,
    team_id BIGINT NOT NULL CONSTRAINT fk_team_messages_team_id REFERENCES teams (id),
    text TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_team_messages_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_team_messages_team_id ON team_messages (team_id);

CREATE TABLE team_renamings (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_team_renamings PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_team_renamings_competition_id REFERENCES competitions (id),
    team_id BIGINT NOT NULL CONSTRAINT fk_team_renamings_team_id REFERENCES teams (id),
    before TEXT NOT NULL,
    after TEXT NOT NULL,
    account_id BIGINT NOT NULL CONSTRAINT fk_team_renamings_account_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_team_renamings_account_id ON team_renamings (account_id);
CREATE INDEX ix_team_renamings_competition_id ON team_renamings (competition_id);
CREATE INDEX ix_team_renamings_team_id ON team_renamings (team_id);

CREATE TABLE tracks (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_tracks PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_tracks_competition_id REFERENCES competitions (id),
    kind TEXT NOT NULL,
    extractor TEXT NOT NULL,
    signed BOOLEAN NOT NULL,
    epsilon DOUBLE PRECISION NOT NULL,
    preparation_id BIGINT CONSTRAINT fk_tracks_preparation_id REFERENCES preparations (id),
    replaced_at TIMESTAMPTZ,
    CONSTRAINT ck_tracks_epsilon CHECK (epsilon > 0),
    CONSTRAINT ck_tracks_former CHECK ((kind = 'former') = (replaced_at IS NOT NULL)),
    CONSTRAINT ck_tracks_kind CHECK (kind IN ('public', 'private', 'former'))
);
CREATE UNIQUE INDEX uq_tracks_kind ON tracks (competition_id, kind) WHERE kind <> 'former';

CREATE TABLE webhooks (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_webhooks PRIMARY KEY,
    account_id BIGINT NOT NULL CONSTRAINT fk_webhooks_account_id REFERENCES accounts (id),
    url TEXT NOT NULL,
    secret TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    ended_at TIMESTAMPTZ
);
CREATE INDEX ix_webhooks_account_id ON webhooks (account_id);

CREATE TABLE board_changes (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_board_changes PRIMARY KEY,
    xid BIGINT DEFAULT (pg_current_xact_id()::text)::bigint NOT NULL,
    competition_id BIGINT NOT NULL CONSTRAINT fk_board_changes_competition_id REFERENCES competitions (id),
    track_id BIGINT CONSTRAINT fk_board_changes_track_id REFERENCES tracks (id),
    kind TEXT NOT NULL,
    submission_refs BIGINT[],
    CONSTRAINT ck_board_changes_kind
        CHECK (kind IN ('entries', 'threshold', 'ruling', 'label', 'picks', 'merge', 'team', 'publication',
            'competition', 'track', 'shown', 'hidden-shown'))
);
CREATE INDEX ix_board_changes_news ON board_changes (competition_id, xid);

CREATE TABLE early_labels (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_early_labels PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_early_labels_submission_ref REFERENCES submissions (ref),
    label TEXT NOT NULL,
    source TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_early_labels_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_early_labels_label CHECK (label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other')),
    CONSTRAINT ck_early_labels_source CHECK (source IN ('hand', 'import'))
);
CREATE INDEX ix_early_labels_newest ON early_labels (submission_ref, id DESC);

CREATE TABLE code_attachments (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_code_attachments PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_code_attachments_submission_ref REFERENCES submissions (ref),
    kind TEXT NOT NULL,
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_code_attachments_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_code_attachments_kind CHECK (kind IN ('zip', 'notebook'))
);
CREATE INDEX ix_code_attachments_author_id ON code_attachments (author_id);
CREATE INDEX ix_code_attachments_newest ON code_attachments (submission_ref, id DESC);

CREATE TABLE code_requests (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_code_requests PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_code_requests_submission_ref REFERENCES submissions (ref),
    until TIMESTAMPTZ NOT NULL,
    text TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_code_requests_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_code_requests_newest ON code_requests (submission_ref, id DESC);

CREATE TABLE deliveries (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_deliveries PRIMARY KEY,
    webhook_id BIGINT NOT NULL CONSTRAINT fk_deliveries_webhook_id REFERENCES webhooks (id),
    kind TEXT NOT NULL,
    subject TEXT NOT NULL,
    body TEXT NOT NULL,
    link TEXT NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    error TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    sent_at TIMESTAMPTZ,
    CONSTRAINT ck_deliveries_state CHECK (state IN ('waiting', 'sending', 'sent', 'failed'))
);
CREATE INDEX ix_deliveries_waiting ON deliveries (webhook_id, due_at) WHERE state IN ('waiting', 'sending');
CREATE INDEX ix_deliveries_webhook ON deliveries (webhook_id, id DESC);

CREATE TABLE generators (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_generators PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_generators_submission_ref REFERENCES submissions (ref),
    bytes BIGINT NOT NULL,
    sha256 TEXT NOT NULL,
    blob_key TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    distribution TEXT NOT NULL,
    seed BIGINT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_generators_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_generators_bytes CHECK (bytes > 0),
    CONSTRAINT ck_generators_dimension CHECK (dimension > 0),
    CONSTRAINT ck_generators_distribution CHECK (distribution IN ('normal', 'uniform'))
);
CREATE INDEX ix_generators_author_id ON generators (author_id);
CREATE INDEX ix_generators_newest ON generators (submission_ref, id DESC);

CREATE TABLE hashed_entries (
    submission_ref BIGINT CONSTRAINT pk_hashed_entries PRIMARY KEY CONSTRAINT fk_hashed_entries_submission_ref
        REFERENCES submissions (ref),
    blob_key TEXT NOT NULL CONSTRAINT uq_hashed_entries_blob_key UNIQUE,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE image_comparisons (
    submission_ref BIGINT CONSTRAINT pk_image_comparisons PRIMARY KEY CONSTRAINT fk_image_comparisons_submission_ref
        REFERENCES submissions (ref),
    compared INTEGER NOT NULL,
    common INTEGER NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE labels (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_labels PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_labels_submission_ref REFERENCES submissions (ref),
    label TEXT NOT NULL,
    note TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_labels_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_labels_label CHECK (label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other'))
);
CREATE INDEX ix_labels_newest ON labels (submission_ref, id DESC);

CREATE TABLE rating_items (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rating_items PRIMARY KEY,
    study_id BIGINT NOT NULL CONSTRAINT fk_rating_items_study_id REFERENCES rating_studies (id),
    kind TEXT NOT NULL,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_rating_items_submission_ref REFERENCES submissions (ref),
    images INTEGER[] NOT NULL,
    blob_key TEXT NOT NULL,
    start INTEGER NOT NULL,
    length INTEGER NOT NULL,
    CONSTRAINT ck_rating_items_kind CHECK (kind IN ('realism', 'diversity'))
);
CREATE INDEX ix_rating_items_study ON rating_items (study_id, kind, id);

CREATE TABLE rescoring_campaigns (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rescoring_campaigns PRIMARY KEY,
    track_id BIGINT NOT NULL CONSTRAINT fk_rescoring_campaigns_track_id REFERENCES tracks (id),
    preparation_id BIGINT NOT NULL CONSTRAINT fk_rescoring_campaigns_preparation_id REFERENCES preparations (id),
    former_preparation_id BIGINT NOT NULL CONSTRAINT fk_rescoring_campaigns_former_preparation_id
        REFERENCES preparations (id),
    submission_refs BIGINT[],
    reason TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_rescoring_campaigns_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_rescoring_campaigns_track_id ON rescoring_campaigns (track_id);

CREATE TABLE review_claims (
    competition_id BIGINT NOT NULL CONSTRAINT fk_review_claims_competition_id REFERENCES competitions (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_review_claims_account_id REFERENCES accounts (id),
    submission_ref BIGINT NOT NULL CONSTRAINT fk_review_claims_submission_ref REFERENCES submissions (ref),
    expires_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT pk_review_claims PRIMARY KEY (competition_id, account_id)
);

CREATE TABLE reviews (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_reviews PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_reviews_submission_ref REFERENCES submissions (ref),
    reviewer_id BIGINT NOT NULL CONSTRAINT fk_reviews_reviewer_id REFERENCES accounts (id),
    label TEXT NOT NULL,
    intent TEXT,
    note TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_reviews_intent CHECK (intent IN ('intended', 'unintended', 'unclear')),
    CONSTRAINT ck_reviews_label CHECK (label IN ('legitimate', 'mgan', 'sup', 'ae', 'aug', 'other'))
);
CREATE INDEX ix_reviews_newest ON reviews (submission_ref, reviewer_id, id DESC);
CREATE INDEX ix_reviews_reviewer_id ON reviews (reviewer_id);

CREATE TABLE rulings (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rulings PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_rulings_submission_ref REFERENCES submissions (ref),
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    memorising BOOLEAN,
    author_id BIGINT NOT NULL CONSTRAINT fk_rulings_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_rulings_kind CHECK (kind IN ('keep', 'disqualify', 'waive'))
);
CREATE INDEX ix_rulings_newest ON rulings (submission_ref, id DESC);

CREATE TABLE shared_images (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_shared_images PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_shared_images_submission_ref REFERENCES submissions (ref),
    other_ref BIGINT NOT NULL CONSTRAINT fk_shared_images_other_ref REFERENCES submissions (ref),
    competition_id BIGINT NOT NULL CONSTRAINT fk_shared_images_competition_id REFERENCES competitions (id),
    images INTEGER NOT NULL,
    equal INTEGER NOT NULL,
    share DOUBLE PRECISION NOT NULL,
    examples JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_shared_images_submission_ref_other_ref UNIQUE (submission_ref, other_ref),
    CONSTRAINT ck_shared_images_counts CHECK (equal BETWEEN 0 AND images),
    CONSTRAINT ck_shared_images_order CHECK (submission_ref > other_ref)
);
CREATE INDEX ix_shared_images_competition_id ON shared_images (competition_id);
CREATE INDEX ix_shared_images_other_ref ON shared_images (other_ref);

CREATE TABLE submission_events (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_submission_events PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_submission_events_submission_ref REFERENCES submissions (ref),
    status TEXT NOT NULL,
    reason TEXT,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_submission_events_submission ON submission_events (submission_ref, id);

CREATE TABLE thresholds (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_thresholds PRIMARY KEY,
    track_id BIGINT NOT NULL CONSTRAINT fk_thresholds_track_id REFERENCES tracks (id),
    tau DOUBLE PRECISION NOT NULL,
    method TEXT NOT NULL,
    choice JSONB NOT NULL,
    reason TEXT NOT NULL,
    author_id BIGINT CONSTRAINT fk_thresholds_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_thresholds_tau CHECK (tau >= 0 AND tau < 'Infinity')
);
CREATE INDEX ix_thresholds_newest ON thresholds (track_id, id DESC);

CREATE TABLE uploads (
    id TEXT CONSTRAINT pk_uploads PRIMARY KEY,
    competition_id BIGINT NOT NULL CONSTRAINT fk_uploads_competition_id REFERENCES competitions (id),
    account_id BIGINT NOT NULL CONSTRAINT fk_uploads_account_id REFERENCES accounts (id),
    method TEXT NOT NULL,
    file_name TEXT NOT NULL,
    note TEXT NOT NULL,
    benchmark TEXT,
    described TEXT NOT NULL,
    put_digest BYTEA,
    length BIGINT NOT NULL,
    reserved BIGINT,
    reserved_until TIMESTAMPTZ,
    sha256 TEXT,
    idempotency_key TEXT,
    state TEXT NOT NULL,
    received BIGINT NOT NULL,
    parts TEXT[] NOT NULL,
    writer TEXT,
    begun_at TIMESTAMPTZ NOT NULL,
    expires_at TIMESTAMPTZ NOT NULL,
    completed_at TIMESTAMPTZ,
    finishing_until TIMESTAMPTZ,
    submission_ref BIGINT CONSTRAINT fk_uploads_submission_ref REFERENCES submissions (ref),
    problem JSONB,
    CONSTRAINT uq_uploads_competition_id_account_id_idempotency_key UNIQUE (competition_id, account_id,
        idempotency_key),
    CONSTRAINT ck_uploads_done CHECK ((state = 'done') = (submission_ref IS NOT NULL)),
    CONSTRAINT ck_uploads_method CHECK (method IN ('tus', 'put', 'wire')),
    CONSTRAINT ck_uploads_received CHECK (received >= 0 AND received <= length),
    CONSTRAINT ck_uploads_refused CHECK ((state = 'refused') = (problem IS NOT NULL)),
    CONSTRAINT ck_uploads_state CHECK (state IN ('receiving', 'done', 'refused', 'ended'))
);
CREATE INDEX ix_uploads_expiry ON uploads (expires_at) WHERE state = 'receiving';
CREATE INDEX ix_uploads_litter ON uploads (id) WHERE state <> 'receiving' AND parts <> '{}';
CREATE INDEX ix_uploads_open ON uploads (account_id, competition_id) WHERE state = 'receiving';
CREATE INDEX ix_uploads_submission_ref ON uploads (submission_ref);

CREATE TABLE jobs (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_jobs PRIMARY KEY,
    queue TEXT NOT NULL,
    submission_ref BIGINT CONSTRAINT fk_jobs_submission_ref REFERENCES submissions (ref),
    track_id BIGINT CONSTRAINT fk_jobs_track_id REFERENCES tracks (id),
    preparation_id BIGINT CONSTRAINT fk_jobs_preparation_id REFERENCES preparations (id),
    release_id TEXT CONSTRAINT fk_jobs_release_id REFERENCES releases (id),
    study_id BIGINT CONSTRAINT fk_jobs_study_id REFERENCES rating_studies (id),
    generator_id BIGINT CONSTRAINT fk_jobs_generator_id REFERENCES generators (id),
    campaign_id BIGINT CONSTRAINT fk_jobs_campaign_id REFERENCES rescoring_campaigns (id),
    shown_track_id BIGINT CONSTRAINT fk_jobs_shown_track_id REFERENCES shown_tracks (id),
    team_id BIGINT CONSTRAINT fk_jobs_team_id REFERENCES teams (id),
    state TEXT NOT NULL,
    priority INTEGER NOT NULL,
    turn BIGINT NOT NULL,
    due_at TIMESTAMPTZ NOT NULL,
    attempts INTEGER NOT NULL,
    deferrals INTEGER DEFAULT '0' NOT NULL,
    holder TEXT,
    lease_until TIMESTAMPTZ,
    worker TEXT,
    stage TEXT,
    fraction DOUBLE PRECISION,
    error TEXT,
    created_at TIMESTAMPTZ NOT NULL,
    started_at TIMESTAMPTZ,
    finished_at TIMESTAMPTZ,
    CONSTRAINT ck_jobs_held CHECK ((state = 'running') = (holder IS NOT NULL)),
    CONSTRAINT ck_jobs_queue
        CHECK (queue IN ('check', 'score', 'prepare', 'compare', 'release', 'ratings', 'evidence', 'recover',
            'rescore')),
    CONSTRAINT ck_jobs_state CHECK (state IN ('waiting', 'running', 'done', 'failed', 'cancelled'))
);
CREATE INDEX ix_jobs_campaign_id ON jobs (campaign_id);
CREATE INDEX ix_jobs_done ON jobs (queue, track_id, finished_at DESC) WHERE state = 'done' AND priority = 0;
CREATE INDEX ix_jobs_failed ON jobs (finished_at) WHERE state = 'failed';
CREATE INDEX ix_jobs_finished ON jobs (finished_at);
CREATE INDEX ix_jobs_generator_id ON jobs (generator_id);
CREATE INDEX ix_jobs_preparation_id ON jobs (preparation_id);
CREATE INDEX ix_jobs_release_id ON jobs (release_id);
CREATE INDEX ix_jobs_running ON jobs (lease_until) WHERE state = 'running';
CREATE INDEX ix_jobs_scores ON jobs (track_id, submission_ref, id DESC) INCLUDE (state) WHERE queue = 'score';
CREATE INDEX ix_jobs_shown_track_id ON jobs (shown_track_id);
CREATE INDEX ix_jobs_study_id ON jobs (study_id);
CREATE INDEX ix_jobs_submission_ref ON jobs (submission_ref);
CREATE INDEX ix_jobs_team ON jobs (team_id, queue, started_at);
CREATE INDEX ix_jobs_unfinished ON jobs (queue, priority, team_id, turn) WHERE state IN ('waiting', 'running');
CREATE INDEX ix_jobs_waiting ON jobs (queue, priority, turn, id) WHERE state = 'waiting';

CREATE TABLE ratings (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_ratings PRIMARY KEY,
    item_id BIGINT NOT NULL CONSTRAINT fk_ratings_item_id REFERENCES rating_items (id),
    rater_id BIGINT NOT NULL CONSTRAINT fk_ratings_rater_id REFERENCES raters (id),
    value SMALLINT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_ratings_rater_id_item_id UNIQUE (rater_id, item_id),
    CONSTRAINT ck_ratings_value CHECK (value BETWEEN 1 AND 5)
);
CREATE INDEX ix_ratings_item ON ratings (item_id, id DESC);

CREATE TABLE rebuttals (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rebuttals PRIMARY KEY,
    submission_ref BIGINT NOT NULL CONSTRAINT fk_rebuttals_submission_ref REFERENCES submissions (ref),
    ruling_id BIGINT CONSTRAINT fk_rebuttals_ruling_id REFERENCES rulings (id),
    track TEXT,
    team_id BIGINT NOT NULL CONSTRAINT fk_rebuttals_team_id REFERENCES teams (id),
    author_id BIGINT NOT NULL CONSTRAINT fk_rebuttals_author_id REFERENCES accounts (id),
    text TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT uq_rebuttals_submission_ref_ruling_id_track UNIQUE NULLS NOT DISTINCT (submission_ref, ruling_id, track),
    CONSTRAINT ck_rebuttals_track CHECK (track IN ('public', 'private'))
);
CREATE INDEX ix_rebuttals_author_id ON rebuttals (author_id);

CREATE TABLE rescoring_acts (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rescoring_acts PRIMARY KEY,
    campaign_id BIGINT NOT NULL CONSTRAINT fk_rescoring_acts_campaign_id REFERENCES rescoring_campaigns (id),
    kind TEXT NOT NULL,
    reason TEXT NOT NULL,
    author_id BIGINT NOT NULL CONSTRAINT fk_rescoring_acts_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_rescoring_acts_kind CHECK (kind IN ('pause', 'resume', 'cancel', 'switch', 'undo'))
);
CREATE INDEX ix_rescoring_acts_newest ON rescoring_acts (campaign_id, id DESC);

CREATE TABLE compared_distances (
    job_id BIGINT CONSTRAINT pk_compared_distances PRIMARY KEY CONSTRAINT fk_compared_distances_job_id
        REFERENCES jobs (id),
    submission_ref BIGINT NOT NULL CONSTRAINT fk_compared_distances_submission_ref REFERENCES submissions (ref),
    preparation_id BIGINT NOT NULL CONSTRAINT fk_compared_distances_preparation_id REFERENCES preparations (id),
    memorization_distance DOUBLE PRECISION NOT NULL,
    distance_se DOUBLE PRECISION,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_compared_distances_distance CHECK (memorization_distance >= 0 AND memorization_distance <= 2)
);
CREATE INDEX ix_compared_distances_newest ON compared_distances (preparation_id, submission_ref, job_id DESC);

CREATE TABLE measurements (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_measurements PRIMARY KEY,
    job_id BIGINT CONSTRAINT uq_measurements_job_id UNIQUE CONSTRAINT fk_measurements_job_id REFERENCES jobs (id),
    submission_ref BIGINT NOT NULL CONSTRAINT fk_measurements_submission_ref REFERENCES submissions (ref),
    track_id BIGINT NOT NULL CONSTRAINT fk_measurements_track_id REFERENCES tracks (id),
    campaign_id BIGINT CONSTRAINT fk_measurements_campaign_id REFERENCES rescoring_campaigns (id),
    scorer_version TEXT NOT NULL,
    fid DOUBLE PRECISION NOT NULL,
    memorization_distance DOUBLE PRECISION NOT NULL,
    distance_se DOUBLE PRECISION,
    closest_pairs JSONB NOT NULL,
    histogram JSONB NOT NULL,
    artifact_key TEXT,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_measurements_distance CHECK (memorization_distance >= 0 AND memorization_distance <= 2),
    CONSTRAINT ck_measurements_fid CHECK (fid >= 0 AND fid < 'Infinity'),
    CONSTRAINT ck_measurements_measured CHECK ((job_id IS NULL) = (artifact_key IS NULL))
);
CREATE INDEX ix_measurements_artifact_key ON measurements (artifact_key);
CREATE INDEX ix_measurements_campaign_id ON measurements (campaign_id);
CREATE INDEX ix_measurements_newest ON measurements (track_id, submission_ref, id DESC);
CREATE INDEX ix_measurements_submission_ref ON measurements (submission_ref);

CREATE TABLE rebuttal_answers (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_rebuttal_answers PRIMARY KEY,
    rebuttal_id BIGINT NOT NULL CONSTRAINT uq_rebuttal_answers_rebuttal_id UNIQUE CONSTRAINT
        fk_rebuttal_answers_rebuttal_id REFERENCES rebuttals (id),
    granted BOOLEAN NOT NULL,
    answer TEXT NOT NULL,
    ruling_id BIGINT CONSTRAINT fk_rebuttal_answers_ruling_id REFERENCES rulings (id),
    author_id BIGINT NOT NULL CONSTRAINT fk_rebuttal_answers_author_id REFERENCES accounts (id),
    created_at TIMESTAMPTZ NOT NULL
);

CREATE TABLE recoveries (
    job_id BIGINT CONSTRAINT pk_recoveries PRIMARY KEY CONSTRAINT fk_recoveries_job_id REFERENCES jobs (id),
    generator_id BIGINT NOT NULL CONSTRAINT fk_recoveries_generator_id REFERENCES generators (id),
    refusal TEXT,
    faults TEXT[],
    p_value DOUBLE PRECISION,
    gap DOUBLE PRECISION,
    recovered_share DOUBLE PRECISION,
    report JSONB,
    arrays_key TEXT,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    CONSTRAINT ck_recoveries_outcome
        CHECK (num_nonnulls(report, arrays_key) = CASE WHEN refusal IS NULL THEN 2 ELSE 0 END)
);
CREATE INDEX ix_recoveries_newest ON recoveries (generator_id, job_id DESC);

CREATE TABLE shown_measurements (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_shown_measurements PRIMARY KEY,
    job_id BIGINT NOT NULL CONSTRAINT uq_shown_measurements_job_id UNIQUE CONSTRAINT fk_shown_measurements_job_id
        REFERENCES jobs (id),
    shown_track_id BIGINT NOT NULL CONSTRAINT fk_shown_measurements_shown_track_id REFERENCES shown_tracks (id),
    submission_ref BIGINT NOT NULL CONSTRAINT fk_shown_measurements_submission_ref REFERENCES submissions (ref),
    scorer_version TEXT NOT NULL,
    value DOUBLE PRECISION,
    standard_error DOUBLE PRECISION,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL
);
CREATE INDEX ix_shown_measurements_newest ON shown_measurements (shown_track_id, submission_ref, id DESC);
CREATE INDEX ix_shown_measurements_submission_ref ON shown_measurements (submission_ref);

CREATE TABLE evidence (
    id BIGINT GENERATED ALWAYS AS IDENTITY CONSTRAINT pk_evidence PRIMARY KEY,
    job_id BIGINT NOT NULL CONSTRAINT uq_evidence_job_id UNIQUE CONSTRAINT fk_evidence_job_id REFERENCES jobs (id),
    submission_ref BIGINT NOT NULL CONSTRAINT fk_evidence_submission_ref REFERENCES submissions (ref),
    track_id BIGINT NOT NULL CONSTRAINT fk_evidence_track_id REFERENCES tracks (id),
    preparation_id BIGINT NOT NULL CONSTRAINT fk_evidence_preparation_id REFERENCES preparations (id),
    measurement_id BIGINT NOT NULL CONSTRAINT fk_evidence_measurement_id REFERENCES measurements (id),
    seed BIGINT NOT NULL,
    findings JSONB NOT NULL,
    details JSONB NOT NULL,
    provenance JSONB NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    z_u DOUBLE PRECISION,
    u_share DOUBLE PRECISION,
    z_u_p DOUBLE PRECISION,
    c_t DOUBLE PRECISION,
    c_t_error DOUBLE PRECISION,
    copied_cells INTEGER,
    copied_cells_share DOUBLE PRECISION,
    partly_copied_share DOUBLE PRECISION,
    partly_copied_expected DOUBLE PRECISION,
    partly_copied_p DOUBLE PRECISION,
    near_copies_share DOUBLE PRECISION,
    near_copies_expected DOUBLE PRECISION,
    near_copies_p DOUBLE PRECISION,
    near_copies_mirrored INTEGER,
    thumbnail_share DOUBLE PRECISION,
    thumbnail_expected DOUBLE PRECISION,
    thumbnail_p DOUBLE PRECISION,
    thumbnail_mirrored INTEGER,
    hash_share DOUBLE PRECISION,
    hash_expected DOUBLE PRECISION,
    hash_p DOUBLE PRECISION,
    hash_mirrored INTEGER,
    repeats_share DOUBLE PRECISION,
    repeats_pairs INTEGER,
    repeats_expected_pairs DOUBLE PRECISION,
    repeats_p DOUBLE PRECISION,
    relative_share DOUBLE PRECISION,
    relative_expected DOUBLE PRECISION,
    relative_p DOUBLE PRECISION,
    membership_auc DOUBLE PRECISION,
    membership_auc_p DOUBLE PRECISION,
    membership_share DOUBLE PRECISION,
    membership_p DOUBLE PRECISION,
    identical INTEGER NOT NULL,
    mirrored_twins INTEGER NOT NULL,
    authenticity_share DOUBLE PRECISION,
    authenticity_expected DOUBLE PRECISION,
    authenticity_p DOUBLE PRECISION,
    CONSTRAINT ck_evidence_shares CHECK (partly_copied_share BETWEEN 0 AND 1 AND near_copies_share BETWEEN 0 AND 1)
);
CREATE INDEX ix_evidence_measurement_id ON evidence (measurement_id);
CREATE INDEX ix_evidence_newest ON evidence (track_id, submission_ref, id DESC);
CREATE INDEX ix_evidence_submission_ref ON evidence (submission_ref);

-- The service may not change append-only rows. It may call this function, which erases the names of a deleted account
-- and nothing else.
CREATE FUNCTION erase_names(erased bigint, pseudonym text, team_names text[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
DECLARE
    person accounts;
    names text[];
BEGIN
    SELECT * INTO STRICT person FROM accounts WHERE id = erased AND deleted_at IS NOT NULL;
    names := array_remove(ARRAY[lower(person.handle), lower(person.email)], NULL);
    UPDATE audit_entries SET subject = 'account:' || pseudonym,
           before = CASE WHEN action LIKE 'second-factor%' THEN NULL ELSE before END,
           after = CASE WHEN action LIKE 'second-factor%' THEN NULL ELSE after END
    WHERE subject = 'account:' || person.handle;
    UPDATE audit_entries SET address = NULL WHERE actor_id = erased AND address IS NOT NULL;
    UPDATE audit_entries SET after = jsonb_set(after, '{email}', to_jsonb(pseudonym))
    WHERE action = 'invitation.made' AND lower(after->>'email') = ANY (names);
    UPDATE audit_entries SET before = jsonb_set(before, '{who}', to_jsonb(pseudonym))
    WHERE action = 'allowlist.withdrawn' AND lower(before->>'who') = ANY (names);
    UPDATE audit_entries SET after = jsonb_set(after, '{who}', (
        SELECT jsonb_agg(CASE WHEN lower(who) = ANY (names) THEN pseudonym ELSE who END ORDER BY place)
        FROM jsonb_array_elements_text(after->'who') WITH ORDINALITY AS entry (who, place)))
    WHERE action = 'allowlist.invited'
      AND EXISTS (SELECT FROM jsonb_array_elements_text(after->'who') AS who WHERE lower(who) = ANY (names));
    UPDATE allowlist_entries SET account_id = erased, email = NULL WHERE email = lower(person.email);
    UPDATE team_renamings AS act
    SET before = CASE WHEN act.before = ANY (team_names) THEN team.name ELSE act.before END,
        after = CASE WHEN act.after = ANY (team_names) THEN team.name ELSE act.after END
    FROM teams AS team
    WHERE team.id = act.team_id AND (act.before = ANY (team_names) OR act.after = ANY (team_names))
      AND team.id IN (SELECT team_id FROM memberships WHERE account_id = erased);
    DELETE FROM identities WHERE account_id = erased;
    DELETE FROM notices WHERE account_id = erased;
    UPDATE notices SET subject = 'An invitation', body = 'Whoever made it has deleted their account.'
    WHERE kind = 'invitation' AND strpos(body, person.name || ' (' || person.handle || ')') = 1;
    DELETE FROM mail_choices WHERE account_id = erased;
END $$;

-- The selection of scorer.db.leaderboard.scores, with the newest threshold of every track: for psql.
CREATE VIEW scores AS
SELECT
    ref, id, competition, track, competition_id, track_id, team_id, team, benchmark, accepted_at,
    fid, memorization_distance, distance_se, copied_share, tau,
    memorization_distance < 1e-06 OR copied_share > 0.5 AS copy,
    memorization_distance < tau AS penalised,
    CASE
        WHEN memorization_distance < 1e-06 OR copied_share > 0.5 THEN 'NaN'::double precision
        ELSE fid * CASE
            WHEN memorization_distance < tau THEN CASE
                WHEN memorization_distance + epsilon < 1.0 THEN 1.0 / (memorization_distance + epsilon)
                ELSE 1.0
            END
            ELSE CASE WHEN memorization_distance >= tau THEN 1.0 ELSE 'NaN'::double precision END
        END
    END AS mifid,
    measurement_id, measured_at, late, ruling, ruling = 'disqualify' AS disqualified
FROM (
    SELECT
        submissions.ref, submissions.id, competitions.slug AS competition, tracks.kind AS track, tracks.epsilon,
        submissions.competition_id, measured.track_id, teams.id AS team_id, teams.name AS team, teams.benchmark,
        submissions.accepted_at, measured.fid, measured.memorization_distance, measured.distance_se,
        coalesce(submissions.copied_share, 0.0) AS copied_share,
        CASE
            WHEN teams.benchmark OR coalesce(ruled.kind, 'keep'::text) = 'waive' THEN 0::double precision
            ELSE chosen.tau
        END AS tau,
        measured.id AS measurement_id, measured.created_at AS measured_at, submissions.late,
        coalesce(ruled.kind, 'keep'::text) AS ruling
    FROM submissions
    JOIN (
        SELECT DISTINCT ON (measurements.track_id, measurements.submission_ref)
            measurements.id, measurements.track_id, measurements.submission_ref, measurements.campaign_id,
            measurements.scorer_version, measurements.fid, measurements.memorization_distance,
            measurements.distance_se, measurements.created_at
        FROM measurements
        WHERE measurements.campaign_id IS NULL OR measurements.campaign_id IN (
            SELECT anon_1.campaign_id
            FROM (
                SELECT DISTINCT ON (rescoring_acts.campaign_id) rescoring_acts.campaign_id, rescoring_acts.kind
                FROM rescoring_acts WHERE rescoring_acts.kind IN ('switch', 'undo')
                ORDER BY rescoring_acts.campaign_id, rescoring_acts.id DESC
            ) AS anon_1
            WHERE anon_1.kind = 'switch'
        )
        ORDER BY measurements.track_id, measurements.submission_ref, measurements.id DESC
    ) AS measured ON measured.submission_ref = submissions.ref
    LEFT JOIN (
        SELECT DISTINCT ON (team_merges.team_id) team_merges.team_id, team_merges.into_team_id
        FROM team_merges ORDER BY team_merges.team_id, team_merges.id DESC
    ) AS merged ON merged.team_id = submissions.team_id
    JOIN teams ON teams.id = coalesce(merged.into_team_id, submissions.team_id)
    JOIN tracks ON tracks.id = measured.track_id
    JOIN competitions ON competitions.id = tracks.competition_id
    LEFT JOIN (
        SELECT DISTINCT ON (thresholds.track_id) thresholds.track_id, thresholds.tau
        FROM thresholds ORDER BY thresholds.track_id, thresholds.id DESC
    ) AS chosen ON chosen.track_id = tracks.id
    LEFT JOIN (
        SELECT DISTINCT ON (rulings.submission_ref) rulings.submission_ref, rulings.kind, rulings.reason
        FROM rulings ORDER BY rulings.submission_ref, rulings.id DESC
    ) AS ruled ON ruled.submission_ref = submissions.ref
    WHERE submissions.status = 'scored'
) AS entry;
