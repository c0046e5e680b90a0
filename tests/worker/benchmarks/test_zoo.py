"""The zoo of generators: its arithmetic, and a whole run with sizes too small for meaningful numbers."""

import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import norm
from torch import nn

from benchmarks.harness.report import rendered
from benchmarks.harness.results import HERE, RESULTS
from benchmarks.zoo.detection import EVIDENCE, RULES, Rule, compute_auc, outcomes_found_by, signs_in
from benchmarks.zoo.entries import HONEST, MEMORISING, MIXED, SEEDS, EntryFeatures, Title, ZooPlan, mixed
from benchmarks.zoo.entry_cache import TRAININGS, Inputs, trained_entries
from benchmarks.zoo.outcomes import Outcome, SeedResult, TrainingError, Zoo, read_zoo, write_seed
from benchmarks.zoo.page import parts
from benchmarks.zoo.seeds import seed_result, training_error
from benchmarks.zoo.spaces import SpaceReading, prepare_space, read_entry
from benchmarks.zoo.tables import honest_table, memorisers_table
from benchmarks.zoo.targets import auc_interval, detection_targets, fid_multiples, training_errors, wilson_interval
from benchmarks.zoo.trainings.diffusion import sampled
from benchmarks.zoo.trainings.models import Denoiser, MembershipDiscriminator
from benchmarks.zoo.trainings.one_hot import memorising_gan, supervised
from benchmarks.zoo.trainings.training import Batches, GeneratedImages, anneal, single_threaded
from benchmarks.zoo.trainings.untrained import recoloured
from deploy.demo.photographs import bundled_photographs
from deploy.demo.tiles import Pixels
from scorer.archive import hash_pixels, mirror_images
from scorer.extractors import Features
from scorer.findings.signs import SIGNS
from scorer.generators.recovery.search import to_pixels, to_targets
from scorer.lifecycle import TRACK_KINDS

TINY = ZooPlan(
    images=24,
    photographs=30,
    batch=12,
    width=2,
    sup=2,
    membership=2,
    mgan=2,
    ae=2,
    vae=2,
    flow=2,
    gan=2,
    gan_width=2,
    diffusion=2,
    diffusion_width=8,
    spaces=("tiny", "tiny"),
)
"""A plan that runs everything in seconds; its numbers have no meaning."""


@pytest.fixture(scope="module")
def inputs() -> Inputs:
    parts = bundled_photographs(2019)
    return Inputs(parts.train.images[:120], parts.held_out.images[:90], parts.private_extra.images[:20])


# Shared parts of trainings


def test_images_survive_the_round_trip_to_a_tensor(inputs: Inputs) -> None:
    tensor = to_targets(inputs.train[:5])
    assert (float(tensor.min()), float(tensor.max())) >= (-1.0, 0.0)
    assert float(tensor.max()) <= 1.0
    assert np.array_equal(to_pixels(tensor), inputs.train[:5])


def test_each_epoch_has_every_image_once_in_another_order() -> None:
    batches = Batches(10, 5, seed=1)
    first, second = ([batches.batch_at(2 * epoch + half) for half in range(2)] for epoch in range(2))
    assert sorted(torch.cat(first).tolist()) == sorted(torch.cat(second).tolist()) == list(range(10))
    assert not torch.equal(torch.cat(first), torch.cat(second))
    assert torch.equal(Batches(10, 5, seed=1).batch_at(3), second[1]), "the order does not depend on earlier calls"
    assert sorted(Batches(3, 5, seed=1).batch_at(7).tolist()) == [0, 1, 2]


def test_a_learning_rate_rises_and_falls() -> None:
    optimiser = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    rates = []
    for number in range(100):
        anneal(optimiser, 0.5, number, steps=100)
        rates.append(optimiser.param_groups[0]["lr"])
    assert rates[0] < rates[1] < rates[4]
    assert max(rates) == pytest.approx(0.5, abs=0.01)
    assert rates[5:] == sorted(rates[5:], reverse=True)
    assert rates[-1] < 0.001


def test_a_training_restores_randomness_and_threads() -> None:
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


def test_the_membership_discriminator_prefers_remembered_images() -> None:
    torch.manual_seed(0)
    discriminator = MembershipDiscriminator(2, 4)
    images = torch.rand(2, 3, 64, 64) * 2 - 1
    with torch.no_grad():
        discriminator.memory.weight.copy_(images.flatten(1))
        own, other = discriminator(images, torch.tensor([0, 1])), discriminator(images, torch.tensor([1, 0]))
    assert bool((own > other).all())


@pytest.mark.parametrize(("training", "steps"), [(memorising_gan, 150), (supervised, 150)])
def test_generators_of_one_hot_seeds_learn_images(training: object, steps: int) -> None:
    plan = replace(TINY, images=4, width=6, batch=4, membership=150, mgan=steps, sup=steps)
    coarse = np.random.default_rng(0).integers(0, 256, (4, 4, 4, 3), np.uint8)
    known = coarse.repeat(16, axis=1).repeat(16, axis=2)

    def error(plan: ZooPlan) -> float:
        entries = training(known, plan, 0)  # type: ignore[operator]
        first: GeneratedImages = next(iter(entries))
        found = training_error(first.images, first.originals, known)
        assert found is not None
        return found.mean

    assert error(plan) < 30.0
    assert error(replace(plan, mgan=1, sup=1)) > 50.0


def test_a_sampler_with_the_right_denoiser_draws_the_right_distribution() -> None:
    """The ideal denoiser of a normal distribution has a closed form."""

    class Ideal(nn.Module):
        def forward(self, noisy: torch.Tensor, sigma: torch.Tensor) -> torch.Tensor:
            variance = 0.25
            return 0.5 + (noisy - 0.5) * (variance / (variance + sigma.square())).view(-1, 1, 1, 1)

    torch.manual_seed(0)
    drawn = sampled(Ideal(), torch.randn(2000, 1, 2, 2))  # type: ignore[arg-type]
    assert float(drawn.mean()) == pytest.approx(0.5, abs=0.03)
    assert float(drawn.std()) == pytest.approx(0.5, abs=0.03)


def test_an_untrained_denoiser_keeps_images_with_little_noise() -> None:
    denoiser = Denoiser(3, 8, 4, deviation=0.5)
    images = torch.randn(2, 3, 16, 16) / 2
    with torch.no_grad():
        little = denoiser(images, torch.full((2,), 0.001))
        much = denoiser(images * 1000, torch.full((2,), 1000.0))
    assert torch.allclose(little, images, atol=0.01)
    assert float(much.abs().max()) < 5.0


def test_recoloured_images_keep_their_shapes(inputs: Inputs) -> None:
    images = recoloured(inputs.train[:20], 20, np.random.default_rng(0), max_change=0.2)
    plain = recoloured(inputs.train[:20], 20, np.random.default_rng(0), max_change=0.0)
    known = {digest.tobytes() for digest in hash_pixels(inputs.train)}
    assert not known & {digest.tobytes() for digest in hash_pixels(images)}
    assert known > {digest.tobytes() for digest in hash_pixels(plain)}


def test_training_errors_are_in_grey_levels() -> None:
    train = np.zeros((3, 2, 2, 3), np.uint8)
    images = np.full((2, 2, 2, 3), 6, np.uint8)
    images[1] = 0
    assert training_error(images, np.array([2, 0]), train) == TrainingError(np.sqrt(18.0), 3.0)
    assert training_error(images, None, train) is None


# The cache


def test_entries_are_made_once(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("normal", "ae"):
        with monkeypatch.context() as patches:
            first, seconds = trained_entries(name, 0, inputs, plan=TINY, folder=tmp_path)
            patches.setattr("benchmarks.zoo.entry_cache.TRAININGS", {})
            again, stored = trained_entries(name, 0, inputs, plan=replace(TINY, photographs=31), folder=tmp_path)
            others = (
                (1, inputs, TINY),
                (0, inputs, replace(TINY, images=25)),
                (0, replace(inputs, train=inputs.held_out), TINY),
            )
            for seed, changed, plan in others:
                with pytest.raises(KeyError):
                    trained_entries(name, seed, changed, plan=plan, folder=tmp_path)
        assert stored == seconds
        for one, other in zip(first, again, strict=True):
            assert (one.method, one.strength) == (other.method, other.strength)
            assert np.array_equal(one.images, other.images)
            assert np.array_equal(one.originals, other.originals) if name == "ae" else other.originals is None  # type: ignore[arg-type]


def test_each_seed_splits_the_held_out_photographs_in_another_way(inputs: Inputs) -> None:
    splits = [inputs.photographs(TINY, seed) for seed in (0, 1)]
    for reference, entry in splits:
        assert (len(reference), len(entry)) == (60, 30)
        assert sorted([*reference, *entry]) == list(range(90))
    assert set(splits[0][1]) != set(splits[1][1])


def test_mixes_contain_their_share_of_memorised_images() -> None:
    def seen(method: str, strength: str, value: int) -> EntryFeatures:
        images = np.full((20, 2, 2, 3), value, np.uint8)
        return EntryFeatures(Title(method, strength, 4), images, {"space": np.full((20, 2), value, np.float32)})

    found = {
        outcome.title: outcome
        for outcome in mixed(
            [seen("sup", "", 1), seen("aug", "noisy", 2), seen("diffusion", "", 3), seen("gan", "", 4)]
        )
    }
    assert {title[:2] for title in found} == {
        (f"{share} {how}", whose)
        for share in ("50%", "25%", "10%")
        for how, whose in (("drawn", "sup"), ("altered", "noisy"))
    }
    assert {title.method for title in found} == set(MIXED)
    quarter = found[Title("25% altered", "noisy", 4)]
    assert quarter.features["space"][:, 0].tolist() == [2.0] * 5 + [3.0] * 15
    assert quarter.images[:, 0, 0, 0].tolist() == [2] * 5 + [3] * 15


# Intervals


def test_intervals_of_shares_are_wilsons() -> None:
    assert wilson_interval(0, 0) == (0.0, 1.0)
    assert wilson_interval(2, 2) == pytest.approx((0.3424, 1.0), abs=1e-4)
    assert wilson_interval(7, 20) == pytest.approx((0.1812, 0.5671), abs=1e-4)


def test_auc_intervals_have_their_coverage() -> None:
    """In a simulation, the scores of both kinds are normal and a known distance apart."""
    random = np.random.default_rng(0)
    for distance, positives, negatives in ((1.5, 12, 20), (0.0, 12, 20), (2.5, 20, 12)):
        positive = random.normal(distance, 1.0, (600, positives, 1))
        negative = random.normal(0.0, 1.0, (600, 1, negatives))
        true = float(norm.cdf(distance / np.sqrt(2.0)))
        intervals = [auc_interval(auc, positives, negatives) for auc in (positive > negative).mean((1, 2))]
        held = np.mean([low <= true <= high for low, high in intervals])
        assert 0.93 <= held <= 0.99
    assert auc_interval(1.0, 3, 9)[1] == 1.0
    assert 0.5 < auc_interval(1.0, 3, 9)[0] < 0.9
    assert auc_interval(0.0, 3, 9) == pytest.approx((0.0, 1.0 - auc_interval(1.0, 9, 3)[0]))


# Readings and the page


def reading(distance: float, copied: float = 0.0, fid: float = 1.0, **numbers: float | None) -> SpaceReading:
    nothing = {"identical": 0, "mirrored_twins": 0}
    return SpaceReading(
        images=100, copied=copied, fid=1.0, distance=distance, fid_of_fewer=fid, numbers=nothing | numbers
    )


def seed(number: int, *entries: tuple[str, SpaceReading]) -> SeedResult:
    outcomes = tuple(
        Outcome(Title(method, str(row), number), None, dict.fromkeys(TRACK_KINDS, values))
        for row, (method, values) in enumerate(entries)
    )
    names = ("train", "held_out", "private_extra", "entry", "photographs")
    return SeedResult(
        command="python -m benchmarks.zoo",
        seed=number,
        definition={},
        machine={"processor": "abacus", "cores": "2", "memory": "1 GiB", "system": "none", "threads": "2"}
        | {"date": "2026-03-14", "versions": "numpy 0"},
        seconds={"sup": 120.0},
        counts=dict.fromkeys(names, 9),
        extractors=dict.fromkeys(TRACK_KINDS, "tiny"),
        held_out_distance=dict.fromkeys(TRACK_KINDS, 1.0),
        cells=dict.fromkeys(TRACK_KINDS, 3),
        outcomes=outcomes,
    )


PHOTOGRAPHS = ("photographs", reading(0.6))


def page(zoo: Zoo) -> str:
    return "\n".join(parts(zoo).values())


def rule(name: str) -> Rule:
    return next(rule for rule in RULES if rule.name == name)


def test_auc_compares_with_honest_entries() -> None:
    zoo = Zoo(
        (
            seed(
                2,
                ("sup", reading(0.1)),
                ("sup", reading(0.3, 0.6)),
                ("ae", reading(0.45)),
                ("gan", reading(0.3)),
                ("flow", reading(0.5)),
            ),
        )
    )
    assert compute_auc(zoo, "public", EVIDENCE["s"], "sup") == 0.875
    assert compute_auc(zoo, "public", EVIDENCE["s"], "ae") == 0.5
    assert compute_auc(zoo, "public", EVIDENCE["equal pixels"], "sup") == 0.75
    assert len(outcomes_found_by(zoo, rule("s below tau"), "sup", "ae", "flow")) == 3
    assert [outcome.title.strength for outcome in outcomes_found_by(zoo, rule("equal pixels"), "sup")] == ["1"]
    with pytest.raises(ValueError, match="0 entries of mgan"):
        compute_auc(zoo, "public", EVIDENCE["s"], "mgan")


def test_a_test_without_a_value_finds_nothing() -> None:
    silent = Zoo((seed(2, ("aug", reading(0.6)), ("gan", reading(0.6, c_t=40.0))),))
    assert compute_auc(silent, "private", EVIDENCE["C_T"], "aug") == 0.0
    assert not outcomes_found_by(silent, rule("any sign"), "aug", "gan")


def test_the_rules_include_the_reviewers_signs() -> None:
    assert {sign.name for sign in SIGNS} - {"small-support"} < {rule.name for rule in RULES}
    small = {"thumbnail_p": 1e-9, "thumbnail_share": 0.04}
    zoo = Zoo((seed(2, ("ae", reading(1.0, **small)), ("ae", reading(1.0, **small | {"thumbnail_share": 0.06}))),))
    for name in ("thumbnail-copies", "any sign"):
        assert [outcome.title.strength for outcome in outcomes_found_by(zoo, rule(name), "ae")] == ["1"]
    assert not outcomes_found_by(zoo, rule("near-copies"), "ae")


def test_a_sign_on_one_track_is_a_sign() -> None:
    shown = reading(1.0, thumbnail_p=1e-9, thumbnail_share=0.5)
    outcome = Outcome(Title("ae", "", 2), None, {"public": reading(1.0), "private": shown})
    zoo = Zoo((replace(seed(2), outcomes=(outcome,)),))
    assert outcomes_found_by(zoo, rule("any sign"), "ae") == (outcome,)


def copied(share: float) -> SpaceReading:
    return reading(1.0, near_copies_share=share, near_copies_expected=0.0, near_copies_p=1e-9, near_copies_mirrored=0)


def test_the_page_counts_correct_sentences() -> None:
    held = seed(
        2,
        *(("sup", copied(0.4)), ("sup", reading(1.0)), ("gan", reading(1.0)), PHOTOGRAPHS),
        *(("50% altered", copied(0.3)), ("50% altered", copied(0.2))),
    )
    text = page(Zoo((seed(0, PHOTOGRAPHS), held)))
    assert "| sup (2) | 1 | 0 | 0 | 1 | 40% (40% to 40%) | 1/2 (9% to 91%) | 0/2 (0% to 66%) |" in text
    assert "| 50% altered (2) | 2 | 0 | 0 | 0 | 25% (20% to 30%) | 2/2 (34% to 100%) | 1/2 (9% to 91%) |" in text
    assert "| *all honest* (2) | 0 | 0 | 0 | 2 |  | 2/2 (34% to 100%) | 2/2 (34% to 100%) |" in text
    assert "| all (6) |  |  |  |  |  | 5/6 (44% to 97%) | 3/6 (19% to 81%) |" in text


def test_targets_count_only_the_held_seeds() -> None:
    false = reading(1.0, thumbnail_p=1e-9, thumbnail_share=0.5)
    zoo = Zoo(
        (
            seed(0, ("gan", false), ("50% altered", reading(1.0)), PHOTOGRAPHS),
            seed(2, *[("50% altered", copied(0.5))] * 4, ("50% altered", reading(1.0)), PHOTOGRAPHS),
            seed(3, ("gan", false), PHOTOGRAPHS),
        )
    )
    half, flagged, sentences, shares = detection_targets(zoo.held)
    assert (half.count, half.total, half.verdict) == (4, 5, "met, uncertain")
    assert (flagged.count, flagged.total, flagged.verdict) == (1, 3, "**missed**")
    assert (sentences.count, sentences.total, sentences.verdict) == (6, 8, "**missed**, uncertain")
    assert (shares.count, shares.total, shares.verdict) == (6, 8, "**missed**, uncertain")
    assert replace(half, count=100, total=100).verdict == "met"
    assert replace(half, count=10, total=100).verdict == "**missed**"
    assert replace(flagged, count=0, total=1000).verdict == "met"
    assert replace(flagged, count=900, total=1000).verdict == "**missed**"
    assert "- `gan 0` of seed 3: thumbnail-copies" in page(zoo)


def test_the_page_reports_the_networks_results() -> None:
    def with_error(number: int, square: float) -> SeedResult:
        made = seed(
            number,
            ("sup", reading(1.0)),
            ("gan", reading(1.0, fid=3.0 * number + 3.0)),
            ("photographs", reading(1.0, fid=2.0)),
        )
        first = replace(made.outcomes[0], error=TrainingError(square, square / 2))
        return replace(made, outcomes=(first, *made.outcomes[1:]))

    zoo = Zoo((with_error(0, 7.0), with_error(1, 9.0)))
    assert training_errors(zoo)["sup"][0].values == (7.0, 9.0)
    assert fid_multiples(zoo, "gan", "public").values == (1.5, 3.0)
    text = f"{memorisers_table(zoo)}\n{honest_table(zoo)}"
    assert "| sup | 2 | 8.0 (7.0 to 9.0) | 4.0 (3.5 to 4.5) | **missed** by 1 of 2 |" in text
    assert "| gan | 2.25 (1.50 to 3.00) | 2.25 (1.50 to 3.00) | **missed** by 1 of 2 |" in text


def test_the_page_names_its_seeds() -> None:
    text = page(Zoo((seed(0, PHOTOGRAPHS), seed(2, PHOTOGRAPHS, ("sup", reading(0.1))))))
    assert f"**2 of {len(SEEDS)} seeds have been measured.**" in text
    assert "**Not measured: mgan, ae, vae, aug," in text
    assert "- Seed 2, 2 minutes of training on one core. Measured" in text


def list_sign_names(read: SpaceReading) -> set[str]:
    return {sign.name for sign in signs_in(read)}


def test_copies_show_signs_and_photographs_do_not() -> None:
    random = np.random.default_rng(3)

    def drawn(count: int) -> tuple[Pixels, Features]:
        coarse = random.integers(0, 256, (count, 8, 8, 3), np.uint8)
        return coarse.repeat(2, axis=1).repeat(2, axis=2), np.abs(random.standard_normal((count, 8))).astype(np.float32)

    (train, training), (held_out, unseen), (_, turned) = drawn(300), drawn(200), drawn(300)
    space = prepare_space(train, held_out, training, turned, unseen, training)
    copied = read_entry(train[:150], training[:150], space, fewer=50)
    flipped = read_entry(mirror_images(train[:150]), turned[:150], space, fewer=50)
    honest = read_entry(*drawn(150), space, fewer=50)
    blurred = read_entry(train[:150], drawn(150)[1], space, fewer=50)
    assert space.cells > 1
    assert (copied.distance, copied.copied, flipped.copied, honest.copied) == (0.0, 1.0, 1.0, 0.0)
    assert list_sign_names(honest) == set()
    assert list_sign_names(copied) >= {"near-copies", "partly-copied", "data-copying", "not-authentic"}
    assert list_sign_names(flipped) == {"mirrored-copies", "thumbnail-copies"}
    assert list_sign_names(blurred) == {"thumbnail-copies"}


# Whole runs


@pytest.fixture(scope="module")
def whole(inputs: Inputs, tmp_path_factory: pytest.TempPathFactory) -> Zoo:
    folder = tmp_path_factory.mktemp("zoo")
    return Zoo(tuple(seed_result(number, inputs, TINY, folder=folder) for number in (1, 2)))


def test_every_method_has_entries(whole: Zoo) -> None:
    assert set(whole.methods) == {*MEMORISING, *MIXED, *HONEST}
    first = whole.seeds[0]
    assert first.counts == {"train": 120, "held_out": 60, "private_extra": 20, "entry": 24, "photographs": 30}
    assert set(first.seconds) == set(TRAININGS)
    assert first.definition["plan"] == asdict(TINY)
    assert all(
        (outcome.error is not None) == (outcome.title.method in {"mgan", "sup", "ae", "vae"})
        for outcome in first.outcomes
    )
    turned = next(outcome for outcome in first.outcomes if outcome.title.strength == "mirrored").readings["public"]
    near, upright = turned.numbers["near_copies_share"], turned.numbers["partly_copied_share"]
    assert (turned.copied, near, turned.numbers["thumbnail_share"]) == (1.0, 1.0, 1.0)
    assert upright is not None
    assert upright < 1.0
    for outcome in whole.outcomes:
        # The private reference has more images, so distances to it can't be larger.
        assert outcome.readings["private"].distance <= outcome.readings["public"].distance


def test_the_results_are_stored(whole: Zoo, tmp_path: Path) -> None:
    for seed in whole.seeds:
        write_seed(seed, tmp_path / "results")
    stored = read_zoo(tmp_path / "results")
    for one, other in zip(whole.outcomes, stored.outcomes, strict=True):
        assert (one.title, asdict(one)["error"] is None) == (other.title, other.error is None)
        for track in TRACK_KINDS:
            assert other.readings[track].numbers == pytest.approx(one.readings[track].numbers, rel=1e-5)


def test_the_page_matches_the_stored_results() -> None:
    text = (HERE / "ZOO.md").read_text()
    assert text == rendered(text, parts(read_zoo(RESULTS))), "python -m benchmarks.zoo --render"


def test_figures_in_the_prose_are_in_the_tables() -> None:
    """The page of the zoo and the evidence page quote counts and numbers of the stored seeds."""
    tables = page(read_zoo(RESULTS))
    text = re.sub(r"<!-- results: .*?<!-- end -->", "", (HERE / "ZOO.md").read_text(), flags=re.DOTALL)
    prose = text[text.index("**Few entries are hidden") :]
    evidence = (HERE.parent / "docs" / "explanation" / "evidence.md").read_text()
    counts = re.findall(r"(\d+)\s+of\s+(\d+)", prose + evidence[evidence.index("`make zoo` trains") :])
    assert len(counts) > 10
    wrong = [count for count in counts if re.search(rf"(?<!\d){'/'.join(count)} \(", tables) is None]
    assert wrong == []
    numbers = set(re.findall(r"\d+\.\d+", prose))
    assert numbers
    assert numbers <= set(re.findall(r"\d+\.\d+", tables))
