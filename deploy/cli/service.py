"""``kennel up``, ``demo`` and ``migrate``: the whole service on this machine, and its database's tables."""

from pathlib import Path
from typing import Annotated

import typer

from deploy.standalone.server_binaries import require_extras
from kennel_client.cli.output import Answer, answers

app = typer.Typer()
Data = Annotated[
    Path | None,
    typer.Option(help="Where everything is kept. Default: the user's data folder (root: /var/lib/kennel)."),
]


@app.command()
def up(
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    data: Data = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on. Any but 127.0.0.1 needs KENNEL_PUBLIC_URL.")
    ] = "127.0.0.1",
) -> None:
    """Run the whole service on this machine: database, queue, web, workers. Ctrl-C ends it."""
    # Only this command needs the servers' wheels.
    from deploy.standalone.run import up as run

    require_extras("api", "worker")
    raise typer.Exit(run(data, port, host))


@app.command()
def demo(
    images: Annotated[
        Path | None, typer.Option(help="A folder of photographs to use instead of the built-in ones.")
    ] = None,
    count: Annotated[
        int | None,
        typer.Option(min=50, help="Images per entry. Default: 100, with --full 400; the real size is 10000."),
    ] = None,
    entries: Annotated[int | None, typer.Option(min=1, help="How many entries. Default: 8, with --full 14.")] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8000,
    data: Data = None,
    leave: Annotated[bool, typer.Option("--exit", help="Stop at the end instead of serving until Ctrl-C.")] = False,
    full: Annotated[
        bool, typer.Option("--full", help="More and larger entries, all reference images, the evidence of every entry.")
    ] = False,
) -> None:
    """Run a whole competition on real photographs: several methods, both scores, the board, a re-tune."""
    require_extras("api", "worker", "demo")
    from deploy.demo import plan, run

    raise typer.Exit(run.run_demo(data, port, plan.plan_of(images, count, entries, full=full), leave=leave))


@answers(app)
def migrate(
    wait: Annotated[
        bool, typer.Option("--wait", help="Change nothing: wait until another process has done it.")
    ] = False,
) -> Answer:
    """Bring the database at DATABASE_OWNER_URL (or DATABASE_URL) to the newest version."""
    from deploy.cli.migrate import migrate_database, wait_for_tables
    from scorer.settings import read_settings

    settings = read_settings()
    done = wait_for_tables(settings) if wait else migrate_database(settings)
    return Answer({"message": done}, done)
