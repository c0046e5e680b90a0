"""``kennel weights``: the extractors' weight files in the operator's folder: their hashes, and making them of published
ones."""

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

app = typer.Typer(no_args_is_help=True, help="The extractors' weights in the folder KENNEL_WEIGHTS_DIR.")


@answers(app)
def check(
    names: Annotated[
        list[str] | None, typer.Argument(help="Extractors whose weights must be there. Default: those that are.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Look here, without any settings.")] = None,
) -> Answer:
    """Hash the weights in the folder and compare them with the required hashes; print the setting that requires those
    that are there. Nothing is written. Exit status 1 if one is missing or another than the required one."""
    from scorer.extractors import ExtractorOptions, weights
    from scorer.settings import read_settings
    from worker.runtime.context import extractor_options_of

    options = ExtractorOptions(weights_dir=folder) if folder else extractor_options_of(read_settings())
    specs = [find_extractor(name) for name in names or ()] or [each for each in EXTRACTORS.values() if _is_local(each)]
    faults: list[KennelError] = []
    hashes: dict[str, str] = {}
    lines: list[str] = []
    for spec in specs:
        try:
            hashes[spec.name] = weights.sha256_of(spec, options)
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
    source: Annotated[str, typer.Argument(metavar="FILE_OR_URL", help="The published file, or where to download it.")],
    sha256: Annotated[str | None, typer.Option(help="The published file's SHA-256, as you have confirmed it.")] = None,
    folder: Annotated[Path | None, typer.Option(help="Install here, without any settings.")] = None,
) -> Answer:
    """Install an extractor's weights: check the names and shapes of all tensors, convert the file if necessary, and
    write it to the folder with its SHA-256. Without --sha256, print the SHA-256 of the published file and install
    nothing."""
    from scorer.settings import read_settings

    spec = find_extractor(name)
    if not _is_local(spec):
        raise Invalid("weights-included", f"{name} needs no file: it comes with {spec.weights}.")
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
    """Make an extractor's weight file of a published one: a frozen TensorFlow graph of the 2019 competition (.pb), or a
    file of tensors. It must fit the network. Nothing is overwritten."""
    spec = find_extractor(name)
    target = folder / f"{spec.name}.safetensors"
    if target.exists():
        raise Invalid("weights-exist", f"{target} exists already.")
    with _torch_needed():
        from deploy.published_weights.installation import converted
    content = converted(spec, source, source.read_bytes())
    target.write_bytes(content)
    sha256 = hashlib.sha256(content).hexdigest()
    return Answer({"file": str(target), "sha256": sha256}, f"{target}: SHA-256 {sha256}")


@contextmanager
def _torch_needed() -> Iterator[None]:
    """Around imports, as in scorer.extractors.load: torch is optional, and slow to import."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise Unavailable("no-torch", f"This needs PyTorch and timm, and there is no {error.name}.") from error


def _setting(hashes: dict[str, str]) -> str:
    return f"KENNEL_WEIGHTS_SHA256='{json.dumps(hashes)}'"


def _recorded(folder: Path) -> dict[str, str]:
    """The hashes that are recorded next to the files of a folder, by extractor."""
    from scorer.extractors import ExtractorOptions, weights

    options = ExtractorOptions(weights_dir=folder)
    hashes = {}
    for spec in filter(_is_local, EXTRACTORS.values()):
        with suppress(Unavailable):  # there is no file
            hashes[spec.name] = weights.required_sha256(spec, options)
    return {name: sha256 for name, sha256 in hashes.items() if sha256}


def _is_local(spec: ExtractorSpec) -> bool:
    """Whether the weights are the operator's to provide."""
    return spec.architecture is not None and spec.weights_package is None
