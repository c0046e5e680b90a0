"""``kennel admin installation`` backup, verify-backup and restore: an installation's database and blobs in a folder."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from deploy.cli.operator_access import Data
from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import Answer, answers
from scorer.errors import Invalid, Unavailable
from scorer.product_version import product_version

if TYPE_CHECKING:
    from scorer.backups.manifest import Manifest
    from scorer.settings import Settings

app = typer.Typer()
err = Console(stderr=True, highlight=False)
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder that contains all backups.")]
Name = Annotated[str | None, typer.Argument(metavar="[NAME]", help="The backup's name. Default: the newest.")]


@answers(app)
def backup(
    folder: Folder,
    data: Data = None,
    keep: Annotated[
        int | None,
        typer.Option(min=1, help="Keep this many of the newest backups, and delete the others. Default: keep all."),
    ] = None,
) -> Answer:
    """Back up the database and all blobs while the service runs.

    The database and blob store are set by environment variables, or by --data.

    Later backups in the same folder copy only new blobs.
    """
    import migrations
    from deploy.standalone.data_folder import full_disk_in_words, load_settings
    from scorer.backups import backup as backups
    from scorer.backups.manifest import BackupFolder
    from scorer.blobs import open_blobs
    from scorer.db.backups import engine_for_backups, long_transaction

    settings = load_settings(data)
    target = BackupFolder(folder)
    engine = engine_for_backups(settings.database_url.get_secret_value())
    with full_disk_in_words(folder), target.locked():
        with long_transaction(engine) as connection:
            revision = migrations.current_revision(connection)
            if revision is None:
                raise Unavailable("no-tables", "The database has no tables yet: there is nothing to back up.")
            migrations.require_released(revision)
            made, manifest = backups.make_backup(
                connection,
                open_blobs(settings),
                target,
                revision=revision,
                product=product_version(),
                now=datetime.now(UTC),
                progress=_report,
            )
        if keep is not None:
            target.forget_all_but(keep)
    engine.dispose()
    if manifest.missing:
        err.print(
            f"The store lacks {len(manifest.missing):,} blobs that the database refers to: "
            f"{', '.join(manifest.missing[:5])} ..."
        )
    state = ExitCode.FAULTY if manifest.missing else ExitCode.DONE
    return _answer(made, manifest, f"{made}: {_contents(manifest)}.", exit_code=state)


@answers(app)
def verify_backup(folder: Folder, name: Name = None) -> Answer:
    """Read a whole backup, and check every file against its SHA-256."""
    from scorer.backups import backup as backups
    from scorer.backups.manifest import BackupFolder

    own, manifest = backups.verify_backup(BackupFolder(folder), name, progress=_report)
    return _answer(own, manifest, f"{own} is valid: {_contents(manifest)}.")


@answers(app)
def restore(folder: Folder, name: Name = None, data: Data = None) -> Answer:
    """Restore a backup into a new, unused installation.

    The database and blob store are set by environment variables (with DATABASE_OWNER_URL), or by --data.
    Accounts, passwords and tokens are those of the backup.
    """
    from sqlalchemy import make_url

    import migrations
    from deploy.standalone.data_folder import load_settings
    from scorer.backups import backup as backups
    from scorer.backups.manifest import BackupFolder
    from scorer.blobs import open_blobs
    from scorer.db.backups import analyse, drop_unused_tables, engine_for_backups, long_transaction, require_unused

    settings = load_settings(data)
    source = BackupFolder(folder)
    own, manifest = source.manifest(name)
    migrations.require_released(manifest.revision, "backup")
    if not migrations.is_known(manifest.revision):
        raise Invalid(
            "newer-backup",
            f"The backup was made by a newer version of Kennel ({manifest.product}, database revision "
            f"{manifest.revision}). Restore it with that version.",
        )
    role = make_url(settings.database_url.get_secret_value()).username
    engine = engine_for_backups(settings.migration_url)
    with long_transaction(engine) as connection:
        require_unused(connection)
    _report("blobs")
    with _owned_by_service(settings):
        backups.restore_blobs(open_blobs(settings), source, own, manifest=manifest)
    with long_transaction(engine) as connection:
        drop_unused_tables(connection)
    migrations.upgrade(settings.migration_url, role, manifest.revision)
    with long_transaction(engine) as connection:
        backups.restore_rows(connection, own, manifest, progress=_report)
    analyse(engine)
    engine.dispose()
    migrations.upgrade(settings.migration_url, role)
    return _answer(own, manifest, f"{own} is restored: {_contents(manifest)}. Restart the service.")


@contextmanager
def _owned_by_service(settings: "Settings") -> Iterator[None]:
    """Give files that root writes to the blob store's folder in this block to the folder's account."""
    from deploy.standalone.unix_account import change_owner, find_owner
    from scorer.blobs import parse_folder

    folder = parse_folder(settings.blob_url)
    account = find_owner(folder) if folder is not None else None
    if folder is None or account is None:
        yield
        return
    mask = os.umask(0o077)
    try:
        yield
    finally:
        os.umask(mask)
        change_owner(folder, account)


def _report(what: str) -> None:
    err.print(what)


def _answer(backup: Path, manifest: "Manifest", text: str, *, exit_code: ExitCode = ExitCode.DONE) -> Answer:
    document = {
        "backup": str(backup),
        "made_at": str(manifest.made_at),
        "rows": _rows(manifest),
        "blobs": manifest.blobs,
        "blob_bytes": manifest.blob_bytes,
        "missing": list(manifest.missing),
    }
    return Answer(document, text, exit_code)


def _rows(manifest: "Manifest") -> int:
    return sum(table.rows for table in manifest.tables)


def _contents(manifest: "Manifest") -> str:
    return (
        f"{_rows(manifest):,} rows, {manifest.blobs:,} blobs of {manifest.blob_bytes:,} bytes, as of {manifest.made_at}"
    )
