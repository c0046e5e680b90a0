"""The zoo of generators: its arithmetic, and that all of it runs, on sizes whose numbers mean nothing."""

import xml.etree.ElementTree as ET
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch

from benchmarks.zoo.__main__ import NAMES, main, render, zoo_of
from benchmarks.zoo.detection import (
    EVIDENCE,
    RULES,
    Detection,
    EvidenceKind,
    Rule,
    detection_of,
    measured_evidence,
    measured_rules,
    outcomes_found_by,
    signs_in,
)
from benchmarks.zoo.entries import HONEST, MEMORISING, EntryFeatures, Title, mixed
from benchmarks.zoo.entry_cache import EntryCache, Inputs, cached_entries_of
from benchmarks.zoo.models import MembershipDiscriminator
from benchmarks.zoo.one_hot import memorising_gan
from benchmarks.zoo.outcomes import Outcome, Zoo, read_zoo, write_zoo
from benchmarks.zoo.page import page
from benchmarks.zoo.plan import ZooPlan
from benchmarks.zoo.spaces import References, SpaceReading, read_entry, space_of
from benchmarks.zoo.training import batches, pixels_of, single_threaded, tensor_of
from benchmarks.zoo.untrained import recoloured
from deploy.demo.photographs import bundled_photographs
from deploy.demo.tiles import Pixels
from scorer.archive import hash_pixels, mirror_images
from scorer.extractors import Features
from scorer.findings.signs import SIGNS
from scorer.lifecycle import TRACK_KINDS
from tests.worker.benchmarks.test_benchmarks import MACHINE

TINY = ZooPlan(
    seeds=(0,),
    images=24,
    photographs=30,
    width=2,
    batch=12,
    sup=(1, 2),
    membership=1,
    mgan=(1,),
    ae=(1,),
    vae=(1,),
    flow=3,
    gan=(1,),
    spaces=("tiny", "tiny"),
)
"""Whether everything runs, in seconds: no number of it means anything."""


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    parts = bundled_photographs(2019)
    held_out = parts.held_out.images
    return Inputs(parts.train.images[:120], held_out[:60], held_out[60:90], parts.private_extra.images[:20])


# What trainings share.


def test_images_survive_the_way_to_a_tensor_and_back(inputs: Inputs) -> None:
    tensor = tensor_of(inputs.train[:5])
    assert (float(tensor.min()), float(tensor.max())) >= (-1.0, 0.0)
    assert float(tensor.max()) <= 1.0
    assert np.array_equal(pixels_of(tensor), inputs.train[:5])


def test_batches_are_whole_unless_there_is_but_one() -> None:
    assert sorted(torch.cat(list(batches(10, 5))).tolist()) == list(range(10))
    assert [len(rows) for rows in batches(11, 5)] == [5, 5]
    assert [len(rows) for rows in batches(3, 5)] == [3]


def test_a_training_leaves_randomness_and_threads_alone() -> None:
    torch.manual_seed(1)
    threads = torch.get_num_threads()
    before = torch.random.get_rng_state()
    with single_threaded(5):
        first = torch.rand(3)
        assert torch.get_num_threads() == 1
    with single_threaded(5):
        assert torch.equal(torch.rand(3), first)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), before)


def test_a_frozen_judge_of_membership_prefers_the_image_that_it_remembers() -> None:
    torch.manual_seed(0)
    judge = MembershipDiscriminator(2, 4)
    images = torch.rand(2, 3, 64, 64) * 2 - 1
    with torch.no_grad():
        judge.memory.weight.copy_(images.flatten(1))
        own, other = judge(images, torch.tensor([0, 1])), judge(images, torch.tensor([1, 0]))
    assert bool((own > other).all())


def test_the_memorising_gan_learns_images_that_its_generator_never_sees() -> None:
    plan = replace(TINY, images=4, width=6, batch=4, membership=120, mgan=(1, 120))
    coarse = np.random.default_rng(0).integers(0, 256, (4, 4, 4, 3), np.uint8)
    known = coarse.repeat(16, axis=1).repeat(16, axis=2)
    with single_threaded(0):
        order = torch.randperm(4).numpy()
    first, last = memorising_gan(known, plan, 0)
    errors = [np.abs(each.images.astype(float) - known[order]).mean() for each in (first, last)]
    apart = np.abs(known[order].astype(float) - known[np.roll(order, 1)]).mean()
    assert errors[1] < apart / 2 < errors[0]


def test_recoloured_images_keep_their_shapes(inputs: Inputs) -> None:
    images = recoloured(inputs.train[:20], 20, np.random.default_rng(0), max_change=0.2)
    plain = recoloured(inputs.train[:20], 20, np.random.default_rng(0), max_change=0.0)
    known = {each.tobytes() for each in hash_pixels(inputs.train)}
    assert not known & {each.tobytes() for each in hash_pixels(images)}
    assert known > {each.tobytes() for each in hash_pixels(plain)}


# The cache.


def test_entries_are_made_once(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = EntryCache.at(tmp_path, inputs, TINY)
    first = list(cached_entries_of("normal", 0, inputs, TINY, cache))
    monkeypatch.setattr("benchmarks.zoo.entry_cache.TRAININGS", {})
    again = list(cached_entries_of("normal", 0, inputs, TINY, cache))
    assert [(each.method, each.strength) for each in again] == [(each.method, each.strength) for each in first]
    assert all(np.array_equal(one.images, other.images) for one, other in zip(first, again, strict=True))
    assert EntryCache.at(tmp_path, inputs, replace(TINY, images=25)) != cache
    assert EntryCache.at(tmp_path, replace(inputs, held_out=inputs.train), TINY) != cache


def test_mixes_hold_as_many_memorised_images_as_they_say() -> None:
    def seen(method: str, strength: str, value: int) -> EntryFeatures:
        images = np.full((8, 2, 2, 3), value, np.uint8)
        return EntryFeatures(Title(method, strength, 0), images, {"space": np.full((8, 2), value, np.float32)})

    half, quarter = mixed(
        [seen("sup", "early", 1), seen("sup", "late", 2), seen("flow", "late", 3), seen("gan", "", 4)]
    )
    assert (half.title, quarter.title) == (Title("half copied", "sup", 0), Title("quarter copied", "sup", 0))
    assert half.features["space"][:, 0].tolist() == [2.0] * 4 + [3.0] * 4
    assert quarter.features["space"][:, 0].tolist() == quarter.images[:, 0, 0, 0].tolist() == [2] * 2 + [3] * 6


# Readings and the page.


def reading(distance: float, copied: float = 0.0, **numbers: float | None) -> SpaceReading:
    nothing = {"identical": 0, "mirrored_twins": 0}
    return SpaceReading(images=100, copied=copied, fid=1.0, distance=distance, numbers=nothing | numbers)


def zoo(*entries: tuple[str, SpaceReading]) -> Zoo:
    outcomes = tuple(
        Outcome(Title(method, str(number), 0), dict.fromkeys(TRACK_KINDS, values))
        for number, (method, values) in enumerate(entries)
    )
    names = ("train", "held_out", "private_extra", "entry", "photographs")
    both = dict.fromkeys(TRACK_KINDS, 1.0)
    return Zoo(
        MACHINE,
        dict.fromkeys(names, 9),
        dict.fromkeys(TRACK_KINDS, "tiny"),
        both,
        dict.fromkeys(TRACK_KINDS, 3),
        outcomes,
    )


def by_name(name: str) -> EvidenceKind:
    return next(each for each in EVIDENCE if each.name == name)


def rule(name: str) -> Rule:
    return next(each for each in RULES if each.name == name)


def test_detection_counts_what_is_beyond_every_honest_entry() -> None:
    small_zoo = zoo(
        ("sup", reading(0.1)),
        ("sup", reading(0.3, 0.6)),
        ("ae", reading(0.45)),
        ("gan", reading(0.3)),
        ("flow", reading(0.5)),
    )
    assert detection_of(small_zoo, "public", by_name("s"), "sup") == Detection(auc=0.875, caught=1, entries=2)
    assert detection_of(small_zoo, "public", by_name("s"), "ae") == Detection(auc=0.5, caught=0, entries=1)
    assert detection_of(small_zoo, "public", by_name("equal pixels"), "sup").auc == 0.75
    assert len(outcomes_found_by(small_zoo, "public", rule("s below tau"), "sup", "ae", "flow")) == 3
    assert [each.title.strength for each in outcomes_found_by(small_zoo, "public", rule("equal pixels"), "sup")] == [
        "1"
    ]
    with pytest.raises(ValueError, match="0 entries of mgan"):
        detection_of(small_zoo, "public", by_name("s"), "mgan")


def test_a_test_that_can_say_nothing_finds_nothing() -> None:
    silent = zoo(("aug", reading(0.1)), ("gan", reading(0.3, c_t=40.0)))
    assert detection_of(silent, "private", by_name("C_T"), "aug") == Detection(auc=0.0, caught=0, entries=1)
    assert not outcomes_found_by(silent, "private", rule("any sign"), "aug", "gan")


def test_the_rules_are_those_of_the_signs_that_reviewers_see() -> None:
    assert {sign.name for sign in SIGNS} < {each.name for each in RULES}
    small = {"thumbnail_p": 1e-9, "thumbnail_share": 0.04}
    small_zoo = zoo(("ae", reading(1.0, **small)), ("ae", reading(1.0, **small | {"thumbnail_share": 0.06})))
    for name in ("thumbnail-copies", "any sign"):
        assert [each.title.strength for each in outcomes_found_by(small_zoo, "public", rule(name), "ae")] == ["1"]
    assert not outcomes_found_by(small_zoo, "public", rule("near-copies"), "ae")


def test_a_sign_that_was_not_measured_is_not_in_the_table() -> None:
    old, new = zoo(("ae", reading(1.0))), zoo(("ae", reading(1.0, hash_p=1e-9, hash_share=0.5)))
    assert "hash-copies" not in {each.name for each in measured_rules(old)}
    assert "hash-copies" in {each.name for each in measured_rules(new)}
    assert "any sign" in {each.name for each in measured_rules(old)}
    newer = zoo(("ae", reading(1.0, relative_share=0.5, membership_auc=0.7)), ("gan", reading(1.0)))
    assert {each.name for each in measured_evidence(newer)} - {each.name for each in measured_evidence(old)} == {
        "relative distance",
        "membership",
    }
    assert detection_of(newer, "public", by_name("membership"), "ae") == Detection(auc=1.0, caught=1, entries=1)
    assert "relative distance" in page(newer, [])
    assert "relative distance" not in page(zoo(("ae", reading(1.0)), ("gan", reading(1.0))), [])


def test_the_page_counts_the_sentences_that_are_right() -> None:
    copied = reading(1.0, near_copies_share=0.4, near_copies_expected=0.0, near_copies_p=1e-9, near_copies_mirrored=0)
    entries = zoo(("sup", copied), ("sup", reading(1.0)), ("gan", reading(0.5)))
    text = page(entries, [], "")
    assert "| sup (2) | 1 | 0 | 0 | 1 | 40% (40% to 40%) | 1/2 (9% to 91%) |" in text
    assert "| *all honest* | 0 | 0 | 0 | 1 |  | 1/1 (21% to 100%) |" in text
    assert "| near-copies | near_copies_p | 1/2 (9% to 91%) | 0/0 (0% to 100%) | 0/1 (0% to 79%) |" in text
    assert "| equal pixels | none | 0/2 (0% to 66%) |" in text
    assert "hash-copies" not in text, "it was not measured"


def test_the_page_says_who_misses_what() -> None:
    text = page(zoo(("sup", reading(0.1)), ("ae", reading(0.9)), ("gan", reading(0.5))), ["a.svg"], "Because.")
    assert "- **s** catches every sup; none of ae." in text
    assert "- **C_T** none of sup, ae." in text
    assert "| sup (1) | 1.00, 1/1 | 0.50, 0/1 |" in text
    assert "| *all honest* | 0/1 |" in text
    assert "| gan (1) | 1 | 0.500 | none |" in text
    assert "**Not measured in this run: mgan, vae, aug," in text
    assert "Because." in text
    assert "![a](figures/zoo/a.svg)" in text


def names_of_signs(read: SpaceReading) -> set[str]:
    return {sign.name for sign in signs_in(read)}


def test_copies_read_as_copies_and_photographs_do_not() -> None:
    random = np.random.default_rng(3)

    def drawn(count: int) -> tuple[Pixels, Features]:
        coarse = random.integers(0, 256, (count, 8, 8, 3), np.uint8)
        return coarse.repeat(2, axis=1).repeat(2, axis=2), np.abs(random.standard_normal((count, 8))).astype(np.float32)

    (train, training), (held_out, fresh), (_, turned) = drawn(300), drawn(200), drawn(300)
    space = space_of(References(train, held_out, training, turned, fresh, training))
    copied = read_entry(train[:150], training[:150], space)
    flipped = read_entry(mirror_images(train[:150]), turned[:150], space)
    honest = read_entry(*drawn(150), space)
    blurred = read_entry(train[:150], drawn(150)[1], space)
    assert space.cells > 1
    assert (copied.distance, copied.copied, flipped.copied, honest.copied) == (0.0, 1.0, 1.0, 0.0)
    assert names_of_signs(honest) == set()
    assert names_of_signs(copied) >= {"near-copies", "partly-copied", "data-copying", "not-authentic"}
    assert names_of_signs(flipped) == {"mirrored-copies", "thumbnail-copies"}
    assert names_of_signs(blurred) == {"thumbnail-copies"}


# The whole way.


@pytest.fixture(scope="module")
def whole(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> tuple[Zoo, Path]:
    folder = tmp_path_factory.mktemp("zoo")
    return zoo_of(inputs, TINY, EntryCache.at(folder, inputs, TINY)), folder


def test_every_method_has_entries(whole: tuple[Zoo, Path], inputs: Inputs) -> None:
    measured, _ = whole
    assert set(measured.methods) >= {*MEMORISING, *HONEST}
    assert measured.counts == {"train": 120, "held_out": 60, "private_extra": 20, "entry": 24, "photographs": 30}
    turned = next(each for each in measured.outcomes if each.title.strength == "mirrored").readings["public"]
    near, upright = turned.numbers["near_copies_share"], turned.numbers["partly_copied_share"]
    assert (turned.copied, near, turned.numbers["thumbnail_share"]) == (1.0, 1.0, 1.0)
    assert upright is not None
    assert upright < 1.0
    for each in measured.outcomes:
        # The private reference has more images, so nothing can be farther from it.
        assert each.readings["private"].distance <= each.readings["public"].distance


def test_it_is_kept_and_rendered(whole: tuple[Zoo, Path], tmp_path: Path) -> None:
    measured, _ = whole
    write_zoo(measured, tmp_path / "results" / "zoo.json")
    assert asdict(read_zoo(tmp_path / "results" / "zoo.json")) == asdict(measured)
    render(tmp_path)
    text = (tmp_path / "ZOO.md").read_text()
    figures = sorted((tmp_path / "figures" / "zoo").glob("*.svg"))
    assert len(figures) == 7
    for path in figures:
        assert f"(figures/zoo/{path.name})" in text
        assert ET.fromstring(path.read_text()).tag.endswith("svg")
    assert f"| *photographs* | {len(outcomes_found_by(measured, 'public', RULES[0], 'photographs'))}/1 |" in text


def test_unknown_names_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["cat"])
    assert f"there are {', '.join(NAMES)}" in capsys.readouterr().err
