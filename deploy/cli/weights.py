"""``kennel weights``: check, install and convert the extractors' weight files in the operator's folder."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from kennel_client.cli.exit_codes import ExitCode
from kennel_client.cli.output import Answer, answers
from scorer.errors import Invalid, KennelError, Unavailable
from scorer.extractor_catalogue import EXTRACTORS, ExtractorSpec, find_extractor

app = typer.Typer(no_args_is_help=True, help="Check, install and convert weights of extractors.")


@answers(app)
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(help="Extractors that must have weights. Default: those with a file in the folder."),
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="The folder to check. Default: KENNEL_WEIGHTS_DIR.")] = None,
) -> Answer:
    """Check the hashes of weight files, and print the setting that requires these hashes. If a file is missing or
    differs from the required one, exit with status 1.
    """
    from scorer.extractors import ExtractorOptions, weights
    from scorer.settings import read_settings
    from worker.runtime.context import build_extractor_options

    options = ExtractorOptions(weights_dir=folder) if folder else build_extractor_options(read_settings())
    specs = [find_extractor(name) for name in names or ()] or [spec for spec in EXTRACTORS.values() if _is_local(spec)]
    faults: list[KennelError] = []
    hashes: dict[str, str] = {}
    lines: list[str] = []
    for spec in specs:
        try:
            hashes[spec.name] = weights.hash_weights(spec, options)
        except KennelError as error:
            lines.append(f"{spec.name}: {error.message}")
            faults += [error] if names or error.slug != "missing-weights" else []
        else:
            state = "as required" if weights.required_sha256(spec, options) else "not required yet"
            lines.append(f"{spec.name}: SHA-256 {hashes[spec.name]}, {state}")
    if hashes:
        lines.append(_setting(hashes))
    document = {"sha256": hashes, "faults": [error.message for error in faults]}
    return Answer(document, "\n".join(lines), ExitCode.FAULTY if faults else ExitCode.DONE)


@answers(app)
def install(
    name: Annotated[str, typer.Argument(help="The extractor.")],
    source: Annotated[str, typer.Argument(metavar="FILE_OR_URL", help="The published file, or its URL.")],
    sha256: Annotated[str | None, typer.Option(help="The expected SHA-256 of the published file.")] = None,
    folder: Annotated[Path | None, typer.Option(help="The folder to install to. Default: KENNEL_WEIGHTS_DIR.")] = None,
) -> Answer:
    """Check an extractor's published weights, convert them if necessary, and install them with their SHA-256. Without
    --sha256, only print the SHA-256 of the published file.
    """
    from scorer.settings import read_settings

    spec = find_extractor(name)
    if not _is_local(spec):
        raise Invalid("weights-included", f"{name} needs no file: its weights come with {spec.weights}.")
    target = folder or read_settings().weights_dir
    if target is None or not target.is_dir():
        raise Invalid("no-weights-folder", "Set KENNEL_WEIGHTS_DIR, or --folder, to the folder of the weights.")
    with _torch_needed():
        from deploy.published_weights import installation
    with installation.published_file(source) as file:
        installed = installation.install(spec, file, target, sha256=sha256)
    document = {"file": str(installed.path), "sha256": installed.sha256}
    return Answer(document, f"{installed.path} is installed. To require it everywhere:\n{_setting(_recorded(target))}")


@answers(app)
def convert(
    name: Annotated[str, typer.Argument(help="The extractor.")],
    source: Annotated[Path, typer.Argument(help="The published file.")],
    folder: Annotated[Path, typer.Option(help="The folder to write NAME.safetensors to.")] = Path(),
) -> Answer:
    """Convert a published file (tensors, or a frozen TensorFlow graph of the 2019 competition) to an extractor's weight
    file. Existing files are not overwritten.
    """
    spec = find_extractor(name)
    target = folder / f"{spec.name}.safetensors"
    if target.exists():
        raise Invalid("weights-exist", f"{target} already exists.")
    with _torch_needed():
        from deploy.published_weights.installation import converted
    content = converted(spec, source, source.read_bytes())
    target.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    return Answer({"file": str(target), "sha256": sha256}, f"{target}: SHA-256 {sha256}")


@contextmanager
def _torch_needed() -> Iterator[None]:
    """Wraps imports, as in scorer.extractors.load: torch is optional, and slow to import."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise Unavailable("no-torch", f"This command needs PyTorch and timm; {error.name} is not installed.") from error


def _setting(hashes: dict[str, str]) -> str:
    return f"KENNEL_WEIGHTS_SHA256='{json.dumps(hashes)}'"


def _recorded(folder: Path) -> dict[str, str]:
    """The hashes stored next to the files of a folder, by extractor."""
    from scorer.extractors import ExtractorOptions, weights

    options = ExtractorOptions(weights_dir=folder)
    hashes = {}
    for spec in filter(_is_local, EXTRACTORS.values()):
        with suppress(Unavailable):  # there is no file
            hashes[spec.name] = weights.required_sha256(spec, options)
    return {name: sha256 for name, sha256 in hashes.items() if sha256}


def _is_local(spec: ExtractorSpec) -> bool:
    """Whether the operator must provide the weights."""
    return spec.architecture is not None and spec.weights_package is None
