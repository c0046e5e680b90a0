"""``kennel up``, ``demo`` and ``migrate``: run the whole service on this machine, migrate its database."""

from pathlib import Path
from typing import Annotated

import typer

from deploy.standalone.server_binaries import require_extras
from kennel_client.cli.output import Answer, answers

app = typer.Typer()
Data = Annotated[
    Path | None,
    typer.Option(help="Folder for all data. Default: /var/lib/kennel for root, otherwise your user data folder."),
]


@app.command()
def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the web process; 0 chooses a free one.")] = 8000,
    data: Data = None,
    host: Annotated[
        str, typer.Option(help="Address to listen on. If it is not 127.0.0.1, set KENNEL_PUBLIC_URL.")
    ] = "127.0.0.1",
) -> None:
    """Run the whole service on this machine: database, queue, web, workers. Press Ctrl-C to stop it."""
    # Only this command needs the servers' wheels.
    from deploy.standalone.run import up as run

    require_extras("api", "worker")
    raise typer.Exit(run(data, port, host))


@app.command()
def demo(
    images: Annotated[Path | None, typer.Option(help="Folder of photographs instead of the built-in ones.")] = None,
    count: Annotated[
        int | None,
        typer.Option(
            min=50, help="Images per submission. Default: 100, or 400 with --full. A real competition has 10,000."
        ),
    ] = None,
    entries: Annotated[
        int | None, typer.Option(min=1, help="Number of submissions. Default: 8, or 14 with --full.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the web process; 0 chooses a free one.")] = 8000,
    data: Data = None,
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end instead of running until Ctrl-C.")] = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full", help="Use more and larger submissions, all reference images, and evidence for everything."
        ),
    ] = False,
) -> None:
    """Run a complete example competition with real photographs, from submissions to boards and a new tau."""
    require_extras("api", "worker", "demo")
    from deploy.demo import plan, run

    raise typer.Exit(run.run_demo(data, port, plan.build_plan(images, count, entries, full=full), leave=leave))


@answers(app)
def migrate(
    wait: Annotated[bool, typer.Option("--wait", help="Wait until another process has migrated the database.")] = False,
) -> Answer:
    """Migrate the database at DATABASE_OWNER_URL (or DATABASE_URL) to this version."""
    from deploy.cli.migrate import migrate_database, wait_for_tables
    from scorer.settings import read_settings

    settings = read_settings()
    done = wait_for_tables(settings) if wait else migrate_database(settings)
    return Answer({"message": done}, done)
