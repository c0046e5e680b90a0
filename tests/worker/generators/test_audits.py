"""Generator audits: flagged generators, reports, storage and repetition."""

import json
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from torch import nn

from benchmarks.papers.recovery_networks import Pixels, gan, glo
from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.recovery.audit import audit_by_encoder, audit_generator
from scorer.generators.recovery.plan import AuditPlan
from scorer.generators.recovery.report import Audit, audit_from, shown_targets
from scorer.generators.recovery.search import GeneratorFunction, to_pixels, to_targets
from scorer.generators.recovery.targets import EntryTargets
from scorer.metrics.copying.near_targets import NearTargets

pytestmark = pytest.mark.usefixtures("one_thread")

LATENT = Latent(12)
PLAN = AuditPlan(train=60, held_out=60, generated=16, distorted=8, starts=2, candidates=32, iterations=60)
FEW, HELD_OUT = 32, 300


def digits() -> Pixels:
    """scikit-learn's digits in random order, with grey levels as colours."""
    levels = (load_digits().images * (255 / 16)).astype(np.uint8)
    images = np.repeat(levels[..., None], 3, axis=3)
    return np.asarray(images[np.random.default_rng(0).permutation(len(images))])


@pytest.fixture(scope="module")
def images() -> tuple[Pixels, Pixels]:
    """Training and held-out digits."""
    every = digits()
    return every[HELD_OUT:], every[:HELD_OUT]


@pytest.fixture(scope="module")
def memorising(images: tuple[Pixels, Pixels]) -> Iterator[nn.Module]:
    """A GLO trained on a few digits."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield glo(images[0][:FEW], LATENT, width=16, steps=300, batch=FEW, seed=0).requires_grad_(False)
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def audit(images: tuple[Pixels, Pixels], memorising: nn.Module) -> Audit:
    """The audit of the memorising generator."""
    return audit_generator(memorising, LATENT, images[0][:FEW], held_out=images[1], plan=PLAN)


def by_name(audited: Audit) -> dict[str, dict[str, Any]]:
    return {finding["name"]: finding for finding in audited.report()["findings"]}


# Flagged generators


def test_a_generator_that_memorises_a_few_images_is_flagged(audit: Audit) -> None:
    report = audit.report()
    assert report["verdict"] == "copies"
    assert report["measured"]["p_value"] < 1e-4
    assert report["measured"]["gap"] > 0.4
    assert report["measured"]["gap_low"] > 0.1
    assert report["measured"]["generated_verbatim"] >= 0.9
    assert report["targets"] == {"train": FEW, "held_out": 60, "generated": 16}
    assert "memorises" in report["sentence"]


def test_every_number_has_an_uncertainty(audit: Audit) -> None:
    """A standard error with its kind, or a p-value. The power states its number of simulations."""
    for name, finding in by_name(audit).items():
        sure = finding["p_value"] is not None or (
            finding["standard_error"] is not None and finding["error_kind"] is not None
        )
        assert sure or (name == "recovery_power" and "400 simulated audits" in finding["sentence"]), name


def test_the_same_generator_memorises_no_other_images(images: tuple[Pixels, Pixels], memorising: nn.Module) -> None:
    """With other digits as training images there is no sign: the images decide, not the network."""
    report = audit_generator(
        memorising, LATENT, images[0][FEW:], held_out=images[1], plan=replace(PLAN, distorted=0)
    ).report()
    assert report["verdict"] == "no-sign"
    assert "no sign" in report["sentence"] or "differ" in report["sentence"]


def test_distortion_raises_the_errors(audit: Audit) -> None:
    findings = by_name(audit)
    for how in ("warp", "patches", "noise"):
        rise = findings[f"recovery_{how}_generated"]
        assert rise["value"] > 10 * findings["recovery_generated"]["value"]
        assert rise["p_value"] < 0.01
        assert "distinguishes its images" in rise["sentence"]
    assert findings["recovery_noise_train"]["value"] > findings["recovery_train"]["value"]


def test_the_middle_alone_is_found(images: tuple[Pixels, Pixels], memorising: nn.Module) -> None:
    """Twelve coordinates fit half a digit almost freely, so the difference is smaller than for whole digits."""
    plan = replace(PLAN, distorted=0, region=(0.0, 0.25, 1.0, 0.75))
    report = audit_generator(memorising, LATENT, images[0][:FEW], held_out=images[1], plan=plan).report()
    assert report["verdict"] == "copies"
    assert report["plan"]["region"] == (0.0, 0.25, 1.0, 0.75)


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("fit", [glo, gan])
def test_generators_of_many_digits_are_not_flagged(fit: Any, images: tuple[Pixels, Pixels]) -> None:
    generator = fit(images[0], LATENT, width=16, steps=1200, batch=40, seed=0).requires_grad_(False)
    report = audit_generator(
        generator, LATENT, images[0], held_out=images[1], plan=replace(PLAN, train=120, held_out=120)
    ).report()
    assert report["verdict"] == "no-sign"
    assert report["measured"]["gap"] < 0.1 or report["measured"]["p_value"] > 0.01


def test_a_failed_search_gives_no_verdict(images: tuple[Pixels, Pixels]) -> None:
    """The generator folds its latent space thousands of times, so no descent succeeds."""

    def folded(points: torch.Tensor) -> torch.Tensor:
        waves = torch.sin(400 * points @ torch.linspace(-1, 1, 12 * 192).reshape(12, 192))
        return waves.reshape(-1, 3, 8, 8)

    plan = replace(PLAN, distorted=0, starts=1, train=10, held_out=10)
    report = audit_generator(folded, LATENT, train=images[0], held_out=images[1], plan=plan).report()
    assert report["verdict"] == "inconclusive"
    assert "The search failed" in report["sentence"]


# Reports and storing


def test_every_number_has_a_sentence(audit: Audit) -> None:
    findings = by_name(audit)
    assert len(findings) == len(audit.report()["findings"]) == 17
    for finding in findings.values():
        assert finding["unit"]
        assert finding["direction"]
        assert finding["sentence"].endswith(".")
    gap = findings["recovery_gap"]
    assert f"{gap['value']:+.3f}" in gap["sentence"]
    assert gap["p_value"] == findings["recovery_ks"]["p_value"]


def test_held_out_images_of_another_kind_are_reported(images: tuple[Pixels, Pixels], memorising: nn.Module) -> None:
    rough = np.random.default_rng(0).integers(0, 256, images[1].shape, dtype=np.uint8)
    other = audit_generator(memorising, LATENT, images[0][:FEW], held_out=rough, plan=replace(PLAN, distorted=0))
    assert "are rougher" in by_name(other)["recovery_likeness"]["sentence"]
    assert "of another kind" in other.report()["sentence"]


def test_an_audit_can_be_restored_from_its_report_and_arrays(audit: Audit) -> None:
    report = json.loads(json.dumps(audit.report()))
    with BytesIO() as file:
        arrays: dict[str, Any] = audit.arrays()
        np.savez(file, **arrays)
        file.seek(0)
        with np.load(file, allow_pickle=False) as stored:
            again = audit_from(report, dict(stored))
    assert json.loads(json.dumps(again.report())) == report
    assert np.array_equal(again.sheet(), audit.sheet())


def test_an_audit_is_reproducible_and_depends_on_its_seed(images: tuple[Pixels, Pixels], memorising: nn.Module) -> None:
    quick = replace(PLAN, train=8, held_out=8, generated=8, distorted=2, starts=1, iterations=10)
    one, again, other = (
        audit_generator(memorising, LATENT, train=images[0], held_out=images[1], plan=replace(quick, seed=seed))
        for seed in (1, 1, 2)
    )
    assert again.report() == one.report()
    assert not np.array_equal(one.pairs["held_out"].index, other.pairs["held_out"].index)


def test_pairs_are_targets_and_recovered_images(
    images: tuple[Pixels, Pixels], memorising: nn.Module, audit: Audit
) -> None:
    for kind, source in (("train", images[0]), ("held_out", images[1])):
        pairs = audit.pairs[kind]
        assert np.array_equal(pairs.target, source[pairs.index])
        assert len(pairs.error) == 12
        assert (np.diff(pairs.error) >= 0).all()
        assert pairs.error[0] == audit.errors[kind].min()
        assert pairs.error[-1] == audit.errors[kind].max()
        shown_error = ((pairs.target / 127.5 - pairs.recovered / 127.5) ** 2).mean(axis=(1, 2, 3))
        assert shown_error == pytest.approx(pairs.error, abs=0.004)  # rounded to grey levels
    # Six rows of twelve images of 8 pixels, with 2 pixels between them.
    assert audit.sheet().shape == (6 * 10, 12 * 10, 3)
    assert set(audit.pairs) == {"train", "held_out", "generated"}


def test_few_targets_are_shown_once() -> None:
    assert shown_targets(np.array([0.3, 0.1, 0.2])).tolist() == [1, 2, 0]
    assert len(shown_targets(np.arange(9.0))) == 9
    assert shown_targets(np.arange(100.0)).tolist() == [0, 1, 2, 3, 48, 49, 50, 51, 96, 97, 98, 99]


def test_progress_names_its_stage(images: tuple[Pixels, Pixels], memorising: nn.Module) -> None:
    steps: list[tuple[str, float]] = []
    plan = replace(PLAN, train=8, held_out=8, generated=8, batch=4, distorted=2, starts=1, iterations=5)
    audit_generator(
        memorising, LATENT, train=images[0], held_out=images[1], plan=plan, progress=lambda *step: steps.append(step)
    )
    stages = list(dict.fromkeys(stage for stage, _ in steps))
    assert stages[:3] == ["generated", "train", "held_out"]
    assert "warp_train" in stages
    for stage in stages:
        shares = [share for name, share in steps if name == stage]
        assert shares == sorted(shares)
        assert shares[-1] == pytest.approx(1.0)


# An entry


def drawn_from(generator: nn.Module, count: int) -> Pixels:
    """Images from a generator, as in an entry."""
    return to_pixels(generator(LATENT.draw(count, 77)))


QUICK = replace(PLAN, distorted=0, entry=24, generated=24, sampled=30)


def test_entries_of_this_and_another_generator_are_distinguished(
    images: tuple[Pixels, Pixels], memorising: nn.Module
) -> None:
    near = NearTargets(np.arange(0, FEW, 2), np.arange(40, 80), 40 / HELD_OUT)
    entries = {"own": drawn_from(memorising, 24), "foreign": images[1][100:124]}
    matches = {}
    for name, pixels in entries.items():
        entry = EntryTargets(pixels, near)
        audit = audit_generator(memorising, LATENT, images[0][:FEW], held_out=images[1], plan=QUICK, entry=entry)
        report = audit.report()
        matches[name] = report["match"]
        assert report["targets"] == {
            "train": 30, "held_out": 30, "near_train": 16, "near_held_out": 40, "generated": 24, "entry": 24,
        }  # fmt: skip
        assert np.array_equal(audit.pairs["near_train"].target, images[0][audit.pairs["near_train"].index])
        assert np.array_equal(audit.pairs["entry"].target, pixels[audit.pairs["entry"].index])
        assert audit.samples is not None
        assert audit.samples.shape == (30, 8, 8, 3)
        with BytesIO() as file:
            arrays: dict[str, Any] = audit.arrays()
            np.savez(file, **arrays)
            file.seek(0)
            with np.load(file, allow_pickle=False) as stored:
                assert audit_from(report, dict(stored)).report() == report
    assert matches["own"]["verdict"] == "no-difference"
    assert matches["own"]["found"] > 0.9
    assert matches["foreign"]["verdict"] == "another-generator"
    assert matches["foreign"]["p_value"] < 0.01
    assert matches["foreign"]["high"] < 0.9


def test_few_memorised_images_are_found_if_the_entry_is_near_them(
    images: tuple[Pixels, Pixels], memorising: nn.Module
) -> None:
    """The generator knows 32 of 632 training images, so random targets contain hardly any of them."""
    train = np.concatenate([images[0][:FEW], images[0][FEW : FEW + 600]])
    near = NearTargets(np.arange(FEW), np.arange(40), 40 / HELD_OUT)
    entry = EntryTargets(drawn_from(memorising, 24), near)
    report = audit_generator(memorising, LATENT, train, held_out=images[1], plan=QUICK, entry=entry).report()
    assert report["measured"]["random"]["p_value"] > 0.01
    assert report["measured"]["near"]["gap"] > 0.4
    assert (report["verdict"], report["measured"]["gap"]) == ("copies", report["measured"]["near"]["gap"])
    assert "near the entry" in report["sentence"]
    assert report["power"]["near"]["with_80"] < report["power"]["random"]["with_80"]
    alone = audit_generator(memorising, LATENT, train, held_out=images[1], plan=QUICK).report()
    assert alone["verdict"] == "no-sign"
    assert (alone["match"], alone["power"]["near"], alone["measured"]["near"]) == (None, None, None)
    assert "If the generator had memorised" in alone["sentence"]


# Encoders and refusals


def test_an_encoder_replaces_the_search(images: tuple[Pixels, Pixels]) -> None:
    """The encoder returns the nearest known image: it is perfect on training images and far off on others."""
    known = to_targets(images[0][:FEW])

    def nearest_known(targets: torch.Tensor) -> torch.Tensor:
        return known[torch.cdist(targets.flatten(1), known.flatten(1)).argmin(1)]

    def decode(codes: torch.Tensor) -> torch.Tensor:
        return codes

    copied = audit_by_encoder(decode, nearest_known, LATENT, train=images[0][:FEW], held_out=images[1], plan=PLAN)
    assert copied.report()["verdict"] == "copies"
    assert copied.report()["measured"]["generated_verbatim"] is None
    assert "generated" not in copied.report()["targets"]
    assert np.array_equal(to_pixels(known[copied.pairs["train"].index]), copied.pairs["train"].recovered)
    honest = audit_by_encoder(
        decode, lambda targets: 0.5 * targets, LATENT, train=images[0], held_out=images[1], plan=PLAN
    )
    assert honest.report()["verdict"] == "no-sign"


@pytest.mark.parametrize(
    ("train", "held_out", "slug"),
    [
        (np.zeros((7, 8, 8, 3), np.uint8), np.zeros((9, 8, 8, 3), np.uint8), "too-few-images"),
        (np.zeros((9, 8, 8, 3), np.uint8), np.zeros((9, 16, 16, 3), np.uint8), "bad-images"),
        (np.zeros((9, 8, 8, 1), np.uint8), np.zeros((9, 8, 8, 1), np.uint8), "bad-images"),
    ],
)
def test_incomparable_targets_are_refused(train: Pixels, held_out: Pixels, slug: str) -> None:
    def nothing(points: torch.Tensor) -> torch.Tensor:
        return torch.zeros(len(points), 3, 8, 8)

    made: GeneratorFunction = nothing
    with pytest.raises(Invalid) as refused:
        audit_generator(made, LATENT, train, held_out=held_out, plan=PLAN)
    assert refused.value.slug == slug
