"""Checks of PostgreSQL: that it responds, and is as fast, safe and large as the service needs."""

import migrations
from deploy.doctor.installation import Check, Fault, Installation, Skipped
from scorer.db import grants
from scorer.db.accounts import any_admin
from scorer.db.competition_roles import without_organizer
from scorer.db.diagnostics import server_settings
from scorer.db.session import (
    clock_skew,
    max_open_connections,
    ping,
    require_connections,
    require_right_clock,
    server_connections,
)

MIN_VERSION = 15
"""The oldest major version of PostgreSQL that its project still supports."""


def _answers(installation: Installation) -> str:
    ping(installation.sessions)
    return "it responds"


def _clock(installation: Installation) -> str:
    require_right_clock(installation.sessions, installation.now)
    skew = abs(clock_skew(installation.sessions, installation.now)).total_seconds()
    return f"the clocks of this machine and the database differ by {skew:.1f} s"


def _tables(installation: Installation) -> str:
    with installation.sessions() as session:
        migrations.require_migrated(session.connection())
        current = migrations.current_revision(session.connection())
    newest = migrations.newest_revision()
    return (
        f"the tables are those of this version, {newest}"
        if current == newest
        else f"the tables are {current}, later than this version's {newest}"
    )


def _version(installation: Installation) -> str:
    with installation.sessions() as session:
        version = server_settings(session).major_version
    if version < MIN_VERSION:
        raise Fault(f"PostgreSQL {version} is older than {MIN_VERSION}.")
    return f"PostgreSQL {version}"


def _durability(installation: Installation) -> str:
    with installation.sessions() as session:
        settings = server_settings(session)
    names = ("fsync", "full_page_writes", "synchronous_commit")
    off = [name for name in names if getattr(settings, name) == "off"]
    if off:
        raise Fault(f"{', '.join(off)}: off. A power cut could destroy accepted entries or damage the database.")
    return "committed data survives a power cut"


def _encoding(installation: Installation) -> str:
    with installation.sessions() as session:
        encoding = server_settings(session).encoding
    if encoding != "UTF8":
        raise Fault(
            f"The database's encoding is {encoding}, so names of people and files with other characters are refused."
        )
    return encoding


def _connections(installation: Installation) -> str:
    sessions, settings = installation.sessions, installation.settings
    require_connections(sessions, settings)
    if settings.database_pooler:
        return f"all processes together can open {max_open_connections(settings)} connections to the pooler"
    opened = max_open_connections(settings)
    return f"all processes together can open {opened} of {server_connections(sessions)} connections"


def _rights(installation: Installation) -> str:
    with installation.sessions() as session:
        missing = grants.missing_rights(session)
    if missing:
        raise Fault(f"The role of DATABASE_URL lacks {', '.join(missing[:3])}{' ...' if len(missing) > 3 else ''}.")
    return "the service's role has all the rights it needs"


def _role(installation: Installation) -> str:
    with installation.sessions() as session:
        excess = grants.excessive_rights(session)
    if excess:
        raise Fault(
            f"The role of DATABASE_URL is {' and '.join(excess)}, so a flaw in the service could delete history."
        )
    return "the service's role can neither change tables nor rewrite history"


def _admin(installation: Installation) -> str:
    with installation.sessions() as session:
        if not any_admin(session):
            raise Fault("No account is an admin.")
    return "at least one account is an admin"


def _organizers(installation: Installation) -> str:
    with installation.sessions() as session:
        titles = list(without_organizer(session).values())
    if titles:
        named = ", ".join(titles[:3]) + (" ..." if len(titles) > 3 else "")
        raise Fault(f"Nobody can decide disputes in {len(titles)} of the competitions: {named}.")
    return "somebody can decide disputes in every competition"


def _pooler_sessions(installation: Installation) -> str:
    url = installation.settings.database_owner_url
    if not installation.settings.database_pooler:
        raise Skipped("DATABASE_URL is the address of PostgreSQL itself")
    if url is None or url == installation.settings.database_url:
        raise Fault("Migrations would go through the pooler: DATABASE_OWNER_URL is not set.")
    return "migrations bypass the pooler"


CHECKS = (
    Check("database", _answers, "Start PostgreSQL, and check that DATABASE_URL and its password match the server's."),
    Check(
        "clock", _clock, "Synchronise the clocks of both machines with NTP (`timedatectl set-ntp true`).", ["database"]
    ),
    Check("database version", _version, "Restore a backup into a newer PostgreSQL; 18 is tested.", ["database"]),
    Check("migrations", _tables, "Make a backup, then run `kennel migrate`.", ["database"]),
    Check("durability", _durability, "Set these to `on` in postgresql.conf and reload the server.", ["database"]),
    Check(
        "encoding", _encoding, "Create the database with `ENCODING 'UTF8'` and restore a backup into it.", ["database"]
    ),
    Check(
        "connections",
        _connections,
        "Raise max_connections in postgresql.conf and restart PostgreSQL, or see docs/how-to/run-many-processes.md.",
        ["database"],
    ),
    Check(
        "rights",
        _rights,
        "Run `kennel migrate` with DATABASE_OWNER_URL set: it renews the rights of the role in DATABASE_URL.",
        ["migrations"],
    ),
    Check(
        "role",
        _role,
        "Create a role without rights (`CREATE ROLE kennel_app LOGIN PASSWORD ...`), set it in DATABASE_URL and "
        "the owner in DATABASE_OWNER_URL, then run `kennel migrate`.",
        ["database"],
    ),
    Check(
        "pooler",
        _pooler_sessions,
        "Set DATABASE_OWNER_URL to the address of PostgreSQL itself, for `kennel migrate`.",
    ),
    Check("admin", _admin, "Run `kennel admin account create-admin NAME` where the service runs.", ["migrations"]),
    Check(
        "organizers",
        _organizers,
        (
            "Run `kennel admin account set-role NAME admin` for somebody who has not competed there; an admin can "
            "appoint an organizer."
        ),
        ["migrations"],
    ),
)
