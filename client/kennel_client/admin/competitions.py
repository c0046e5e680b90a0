"""Setting competitions up, and importing those that were held elsewhere."""

from pathlib import Path
from typing import Any, TypedDict

from kennel_client.admin.arguments import opened
from kennel_client.answers.competitions import CompetitionChanges, CompetitionSpec, CompetitionView
from kennel_client.answers.insights import ImportView
from kennel_client.answers.teams import StorageView
from kennel_client.api import path_of, send_file
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, call, get, send


class ImportOptions(TypedDict, total=False):
    """What the service is told about a table of results; without them its defaults hold. Times are ISO 8601."""

    title: str
    public_extractor: str
    private_extractor: str
    epsilon: float
    opens_at: str
    closes_at: str
    tau_public: float
    tau_private: float
    sealed_score: float
    columns: dict[str, str]
    """What a column is called in this table: ``{"fid_public": "FID"}``."""


class Competitions(Methods[Api]):
    """Competitions, as organizers set them up."""

    @Method
    def create(self, spec: CompetitionSpec) -> Operation[CompetitionView]:
        """Create a draft; ``missing`` in the answer says what it lacks before it can open."""
        return call("POST", "/competitions", json=spec)

    @Method
    def change(self, slug: str, changes: CompetitionChanges) -> Operation[CompetitionView]:
        """Change a competition: a draft in everything, an open one in what harms nobody who takes part."""
        return call("PATCH", path_of("competitions", slug), json=changes)

    @Method
    def delete_draft(self, slug: str) -> Operation[None]:
        """Delete a draft that nobody has entered."""
        return send("DELETE", path_of("competitions", slug))

    @Method
    def storage(self, slug: str) -> Operation[StorageView]:
        """What the zips of a competition take in the store, and the teams that have most."""
        return get(path_of("competitions", slug, "storage"))

    @Method
    def import_results(
        self, slug: str, table: str | Path, options: ImportOptions | None = None
    ) -> Operation[ImportView]:
        """Import a CSV of results of a competition held elsewhere; the same table again adds nothing."""
        params: dict[str, Any] = {**(options or {}), "file_name": Path(table).name}
        params["column"] = [f"{name}={called}" for name, called in params.pop("columns", {}).items()]
        with opened(table) as content:
            path = path_of("competitions", slug, "imports")
            report: ImportView = yield from send_file("POST", path, content, media="text/csv", params=params)
        return report
