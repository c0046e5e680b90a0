"""``kennel admin storage``: what the zips of a competition take in the store."""

import typer

from kennel_client.api import segment
from kennel_client.cli.admin.connection import Url, connected_organizer

app = typer.Typer()
GIGABYTE = 10**9


@app.command()
def storage(slug: str, url: Url = "") -> None:
    """Print what the zips of a competition take in the store, and the teams that have most."""
    with connected_organizer(url) as client:
        view = client.get(f"/competitions/{segment(slug)}/storage")
    print(f"stored    {_size(view['stored_bytes'])}")
    print(f"under way {_size(view['staged_bytes'])}")
    print(f"at most   {_size(view['max_bytes'])}, a team {_size(view['max_team_bytes'])}")
    for each in view["largest_teams"]:
        print(f"{_size(each['stored_bytes'])}  {each['team']}")


def _size(count: int | None) -> str:
    return f"{count / GIGABYTE:10.2f} GB" if count is not None else "no limit"
