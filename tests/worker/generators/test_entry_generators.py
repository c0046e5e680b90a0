"""Generators as entries: reading, checking and drawing, with and without the sandbox."""

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from scorer.confinement.process import missing_measures
from scorer.errors import Invalid
from scorer.generators.drawing import BATCH, Pixels
from scorer.generators.latents import Latent
from scorer.generators.limits import DEFAULT_LIMITS, DrawingTime, GeneratorLimits
from scorer.generators.onnx.canonical import network_sha256
from scorer.generators.onnx.entry import EntryGenerator, draw_images, read_entry
from scorer.generators.onnx.operators import OPERATORS
from scorer.generators.onnx.parsing import parse_graph
from scorer.generators.onnx_files import DeclaredLatent, export_command
from scorer.generators.sandbox import exchange, runner
from scorer.generators.sandbox.entry_tasks import run_check
from scorer.generators.sandbox.runner import DrawnImages, check_in_sandbox, draw_in_sandbox
from scorer.generators.seeds import FIXED_LATENTS, latents
from tests.worker.generators.entry_files import (
    DIGEST,
    FIXED,
    HONEST,
    LATENT,
    MATRIX,
    NODE,
    SIZE,
    before_tanh,
    by_formula,
)
from tests.worker.generators.onnx_files import build_model, linear_model, weight

pytestmark = pytest.mark.usefixtures("one_thread")
NOTHING = DeclaredLatent()
COUNT = 150


WHITENED = before_tanh(
    NODE("ReduceMean", ["flat"], ["mean"], axes=[0], keepdims=1), NODE("Sub", ["flat", "mean"], ["changed"])
)
COUNTED = before_tanh(
    NODE("Shape", ["z"], ["rows"], end=1),
    NODE("Squeeze", ["rows"], ["count"]),
    NODE("Range", ["zero", "count", "one"], ["numbers"]),
    NODE("Cast", ["numbers"], ["floats"], to=TensorProto.FLOAT),
    NODE("Reshape", ["floats", "column"], ["column_of_rows"]),
    NODE("Mul", ["column_of_rows", "step"], ["offset"]),
    NODE("Add", ["flat", "offset"], ["changed"]),
    stored=(
        weight("zero", 0, np.int64),
        weight("one", 1, np.int64),
        weight("column", [-1, 1], np.int64),
        weight("step", 0.05),
    ),
)
"""Adds the number of the row in the batch."""
COUNTING = before_tanh(
    NODE("Shape", ["z"], ["rows"], end=1),
    NODE("Cast", ["rows"], ["count"], to=TensorProto.FLOAT),
    NODE("Div", ["flat", "count"], ["changed"]),
)
"""Divides by the number of rows in the batch."""


def read(content: bytes, declared: DeclaredLatent = NOTHING, default: DeclaredLatent = NOTHING) -> EntryGenerator:
    return read_entry(content, declared, default, size=SIZE, limits=DEFAULT_LIMITS)


def drawn(content: bytes, count: int = COUNT) -> Pixels:
    """Images drawn in this process."""
    return np.concatenate(list(draw_images(read(content), DIGEST, count, values="tanh")))


def refusal_of(call: Callable[..., object], *arguments: object, **options: object) -> Invalid:
    with pytest.raises(Invalid) as caught:
        call(*arguments, **options)
    return caught.value


def draw(content: bytes, out: Path, **changes: Any) -> DrawnImages:
    options: dict[str, Any] = {"count": COUNT, "size": SIZE, "values": "tanh", "out": out} | changes
    return draw_in_sandbox(content, LATENT, DIGEST, **options)


def test_the_sandbox_draws_what_the_formula_says_bit_for_bit(tmp_path: Path) -> None:
    shares: list[tuple[str, float]] = []
    checked = check_in_sandbox(HONEST, NOTHING, NOTHING, size=SIZE, fixed_digest=FIXED)
    assert (checked.latent, checked.values) == (LATENT, "tanh")
    assert checked.network_sha256 == network_sha256(parse_graph(HONEST, None, DEFAULT_LIMITS))
    assert 0 < checked.seconds_per_image < 1
    np.testing.assert_array_equal(checked.fixed_images, by_formula(FIXED, FIXED_LATENTS))
    first = draw(HONEST, tmp_path / "first.npy", progress=lambda *step: shares.append(step))
    second = draw(HONEST, tmp_path / "second.npy", limits=replace(DEFAULT_LIMITS, threads=1))
    np.testing.assert_array_equal(first.images, by_formula(DIGEST, COUNT))
    np.testing.assert_array_equal(first.images, second.images)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.npy", "second.npy"]
    assert shares[-1] == ("drawing", 1.0)
    assert missing_measures(first.provenance["sandbox"]) == []
    assert {"processor", "instruction_set", "seconds", "versions"} <= first.provenance.keys()
    assert [one.provenance["threads"] for one in (first, second)] == [2, 1]


@pytest.mark.parametrize(
    ("content", "slug"), [(WHITENED, "rows-depend"), (COUNTED, "rows-depend"), (COUNTING, "unstable")]
)
@pytest.mark.parametrize("count", [COUNT, FIXED_LATENTS])
def test_an_image_depends_on_its_own_latent_alone(content: bytes, slug: str, count: int) -> None:
    assert refusal_of(drawn, content, count).slug == slug
    np.testing.assert_array_equal(drawn(HONEST, count), by_formula(DIGEST, count))


def test_images_do_not_depend_on_how_many_are_drawn() -> None:
    np.testing.assert_array_equal(drawn(HONEST, 70), drawn(HONEST, COUNT)[:70])


def test_faults_in_values_are_refused_in_a_draw() -> None:
    for node in ("Log", "Reciprocal"):
        faulty = before_tanh(NODE("Relu", ["flat"], ["half"]), NODE(node, ["half"], ["changed"]), last="Identity")
        assert refusal_of(drawn, faulty).slug == "not-finite"
    wide = before_tanh(NODE("Identity", ["flat"], ["changed"]), last="Identity")
    assert refusal_of(drawn, wide).slug == "wrong-range"


def test_a_refusal_says_nothing_about_the_secret_latents(tmp_path: Path) -> None:
    """Nor is a generator refused because of its images there."""
    wide = before_tanh(NODE("Identity", ["flat"], ["changed"]), last="Identity")
    (tmp_path / exchange.GENERATOR).write_bytes(wide)
    messages = {
        refusal_of(run_check, tmp_path, check_request(digest=secret * 32), lambda *_: None).message
        for secret in ("ab", "cd")
    }
    assert len(messages) == 1
    infinite = before_tanh(NODE("Relu", ["flat"], ["half"]), NODE("Reciprocal", ["half"], ["changed"]), last="Identity")
    points = latents(FIXED, LATENT, stop=FIXED_LATENTS)
    assert read(infinite).fixed_pixels(points, "tanh", side=SIZE).max() == 255


def check_request(limits: GeneratorLimits = DEFAULT_LIMITS, **changes: Any) -> exchange.Request:
    parameters = {"latent": [{}, {}], "digest": "", "size": SIZE} | changes
    return exchange.Request("check", parameters, asdict(limits))


def test_an_entry_needs_no_gradient_and_may_be_grey() -> None:
    stepwise = before_tanh(NODE("Floor", ["flat"], ["changed"]))
    assert len(np.unique(drawn(stepwise))) < 10
    grey = build_model(
        [
            NODE("MatMul", ["z", "matrix"], ["flat"]),
            NODE("Tanh", ["flat"], ["t"]),
            NODE("Reshape", ["t", "s"], ["images"]),
        ],
        [weight("matrix", MATRIX[:, :4]), weight("s", [-1, 1, SIZE, SIZE], np.int64)],
    )
    pixels = drawn(grey.SerializeToString())
    assert (pixels == pixels[..., :1]).all()
    assert np.ptp(pixels) > 100


def declared_in_file(**metadata: str) -> bytes:
    model = linear_model()
    helper.set_model_props(model, {f"kennel.{name}": value for name, value in metadata.items()})
    return bytes(model.SerializeToString())


def test_the_latent_space_comes_from_upload_file_or_competition() -> None:
    default = DeclaredLatent(distribution="truncated-normal", classes=3)
    assert read(HONEST, default=default).latent == Latent(5, "truncated-normal", 3)
    in_file = declared_in_file(distribution="uniform", classes="0")
    assert read(in_file, default=default).latent == Latent(8, "uniform")
    assert read(in_file, DeclaredLatent(6, "normal", 2), default).latent == Latent(6, "normal", 2)
    open_model = linear_model(latent=("n", "d")).SerializeToString()
    assert read(open_model, DeclaredLatent(8)).latent == Latent(8)
    assert refusal_of(read, open_model).slug == "wrong-latent"
    assert export_command("dimension") in refusal_of(read, HONEST[:-9]).message
    for metadata in ({"classes": "many"}, {"classes": "1"}, {"distribution": "cauchy\n"}):
        refused = refusal_of(read, declared_in_file(**metadata))
        assert (refused.slug, refused.message.isprintable()) == ("bad-latent", True)


def test_a_class_follows_the_coordinates_as_one_hot() -> None:
    entry = read(HONEST, DeclaredLatent(classes=3))
    points = latents(DIGEST, Latent(5, classes=3), stop=BATCH)
    assert set(points[:, 5:].sum(axis=1)) == {1.0}
    [pixels] = draw_images(entry, DIGEST, BATCH, values="tanh")
    np.testing.assert_array_equal(pixels, entry.pixels(points, "tanh"))


@pytest.mark.parametrize("size", [1, 3])
def test_an_entry_has_images_of_exactly_the_size(size: int) -> None:
    refused = refusal_of(read_entry, HONEST, NOTHING, NOTHING, size=size, limits=DEFAULT_LIMITS)
    assert (refused.slug, refused.message) == (
        "wrong-images",
        f"The images are 2 pixels wide; they must be exactly {size}.",
    )


def test_shapes_that_differ_for_a_single_latent_are_refused() -> None:
    model = linear_model()
    model.graph.node.insert(0, NODE("Squeeze", ["z"], ["squeezed"]))
    model.graph.node[1].input[0] = "squeezed"
    assert read_entry(model.SerializeToString(), NOTHING, NOTHING, size=SIZE, limits=DEFAULT_LIMITS).latent == LATENT
    model.graph.node.append(NODE("Squeeze", ["images"], ["last"]))
    model.graph.output[0].name = "last"
    refused = refusal_of(read, model.SerializeToString())
    assert (refused.slug, "For 1 latents, the output is 3 x 2 x 2" in refused.message) == ("wrong-images", True)


@pytest.mark.parametrize(
    "operator", ["RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike", "Multinomial", "Bernoulli"]
)
def test_random_operators_are_refused(operator: str) -> None:
    assert refusal_of(read, before_tanh(NODE(operator, ["flat"], ["changed"]))).slug == "random-operator"


def test_no_supported_operator_is_random_unless_it_is_told_to_train() -> None:
    schemas: dict[str, Any] = {name: onnx.defs.get_schema(name) for name in OPERATORS}
    random = {name for name, schema in schemas.items() if "NonDeterministic" in str(schema.node_determinism)}
    assert random == {"Dropout"}
    training = before_tanh(NODE("Dropout", ["flat", "", "yes"], ["changed"]), stored=(weight("yes", True, bool),))
    assert refusal_of(drawn, training).slug == "training-mode"


def slow_generator() -> bytes:
    """A generator of 55 million operations per image."""
    side, layers = 480, 120
    nodes = [NODE("ConstantOfShape", ["square"], ["zeros"]), NODE("Tile", ["flat", "times"], ["h0"])]
    nodes += [NODE("MatMul", [f"h{layer}", "zeros"], [f"h{layer + 1}"]) for layer in range(layers)]
    nodes += [
        NODE("Slice", [f"h{layers}", "start", "end", "axis"], ["some"]),
        NODE("Add", ["flat", "some"], ["changed"]),
    ]
    lists = {"square": [side, side], "times": [1, side // 12], "start": [0], "end": [12], "axis": [1]}
    return before_tanh(*nodes, stored=tuple(weight(name, values, np.int64) for name, values in lists.items()))


def test_too_slow_a_generator_is_refused(tmp_path: Path) -> None:
    """A check says how slow it is if it can, and a draw ends at its limit."""
    (tmp_path / exchange.GENERATOR).write_bytes(HONEST)
    request = check_request(GeneratorLimits(wall_seconds=0))
    refused = refusal_of(run_check, tmp_path, request, lambda *_: None)
    assert (refused.slug, "seconds per image" in refused.message) == ("out-of-time", True)
    request = check_request(time=DrawingTime(10**12, 1))
    refused = refusal_of(run_check, tmp_path, request, lambda *_: None)
    assert (refused.slug, "Drawing 1,000,000,000,000 images" in refused.message) == ("too-slow", True)
    out = tmp_path / "draws"
    out.mkdir()
    refused = refusal_of(draw, slow_generator(), out / "out.npy", count=50_000, limits=GeneratorLimits(cpu_seconds=1))
    assert (refused.slug, "The draw used more than 1 seconds" in refused.message) == ("out-of-time", True)
    assert list(out.iterdir()) == []


def test_a_process_that_is_taken_over_cannot_forge_images(tmp_path: Path) -> None:
    """Only a regular file of the exact shape becomes the images."""
    shape = (2, SIZE, SIZE, 3)
    header = exchange.npy_header(shape)
    pickled = header.replace(b"|u1", b"|O ")
    for place, content in enumerate((b"", header + bytes(23), header + bytes(25), pickled + bytes(24))):
        folder = tmp_path / str(place)
        folder.mkdir()
        (folder / exchange.IMAGES).write_bytes(content)
        refused = refusal_of(exchange.move_images, folder, shape, tmp_path / "out.npy")
        assert refused.slug == "generator-crashed"
    (folder / exchange.IMAGES).unlink()
    (tmp_path / "secret").write_bytes(header + bytes(24))
    (folder / exchange.IMAGES).symlink_to(tmp_path / "secret")
    assert refusal_of(exchange.move_images, folder, shape, tmp_path / "out.npy").slug == "generator-crashed"
    assert not (tmp_path / "out.npy").exists()


def test_a_process_that_is_taken_over_cannot_forge_a_check(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = np.zeros((FIXED_LATENTS, SIZE, SIZE, 3), np.uint8)
    report = {
        "network_sha256": "ab" * 32,
        "latent": asdict(LATENT),
        "values": "tanh",
        "seconds_per_image": 0.1,
        "provenance": {},
    }

    def check(arrays: dict[str, Any] | None = None, **changes: object) -> runner.GeneratorCheck:
        result = report | changes, {"fixed_images": fixed} if arrays is None else arrays
        monkeypatch.setattr(runner, "run_in_sandbox", lambda *_: result)
        return check_in_sandbox(b"", NOTHING, NOTHING, size=SIZE, fixed_digest=FIXED)

    assert check().network_sha256 == "ab" * 32
    forged: list[dict[str, Any]] = [
        {"network_sha256": "AB" * 32},
        {"network_sha256": None},
        {"latent": {}},
        {"latent": asdict(LATENT) | {"dimension": "many"}},
        {"latent": asdict(LATENT) | {"distribution": []}},
        {"values": "other"},
        {"seconds_per_image": float("nan")},
        {"seconds_per_image": -1.0},
        {"provenance": 5},
        {"arrays": {}},
        {"arrays": {"fixed_images": fixed[1:]}},
        {"arrays": {"fixed_images": fixed.astype(np.int8)}},
    ]
    for changes in forged:
        assert refusal_of(check, **changes).slug in {"generator-crashed", "bad-latent"}
