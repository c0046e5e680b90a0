"""Files that participants may download."""

from pathlib import Path

from kennel_client.admin.arguments import opened
from kennel_client.answers.data_files import DataFileView
from kennel_client.api import path_of, send_file
from kennel_client.methods import Api, Method, Methods
from kennel_client.steps import Operation, all_pages, call, send


class DataFiles(Methods[Api]):
    """Data files of a competition."""

    @Method
    def all(self, slug: str) -> Operation[list[DataFileView]]:
        """All files that are offered."""
        return all_pages(path_of("competitions", slug, "data"), "files")

    @Method
    def offer(self, slug: str, file: str | Path, name: str | None = None) -> Operation[DataFileView]:
        """Offer a file, under its own name or another one, in place of an earlier one of that name."""
        with opened(file) as content:
            path = path_of("competitions", slug, "data", name or Path(file).name)
            offered: DataFileView = yield from send_file("PUT", path, content)
        return offered

    @Method
    def offer_training_images(self, slug: str, name: str = "train.zip") -> Operation[DataFileView]:
        """Offer the training images that are attached."""
        return call("PUT", path_of("competitions", slug, "data", name), params={"source": "train"})

    @Method
    def withdraw(self, slug: str, name: str) -> Operation[None]:
        """Offer a file no longer."""
        return send("DELETE", path_of("competitions", slug, "data", name))
