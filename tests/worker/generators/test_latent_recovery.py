"""Latent recovery on small networks: recovered images, refusals, distortion, regions and encoders."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pydantic import TypeAdapter
from torch import Tensor, nn

from scorer.errors import Invalid
from scorer.generators.latents import Latent
from scorer.generators.recovery.audit import roughness
from scorer.generators.recovery.by_encoder import reconstruct
from scorer.generators.recovery.distortions import DISTORTIONS, add_noise, patch_images, warp_images
from scorer.generators.recovery.plan import AuditPlan, plan_from
from scorer.generators.recovery.search import Search, build_mask, images_at, require_images, to_pixels, to_targets
from scorer.metrics.copying.latent_recovery import VERBATIM
from scorer.settings import Settings

pytestmark = pytest.mark.usefixtures("one_thread")

SIZE = 8
LATENT = Latent(6)
UNIFORM, TRUNCATED = Latent(6, "uniform"), Latent(6, "truncated-normal")
PLAN = AuditPlan(starts=3, candidates=16, iterations=60)


def decoder(latent: Latent = LATENT, size: int = SIZE, channels: int = 3, seed: int = 0) -> nn.Sequential:
    torch.manual_seed(seed)
    made = nn.Sequential(
        nn.Linear(latent.dimension, 24),
        nn.Tanh(),
        nn.Linear(24, channels * size**2),
        nn.Tanh(),
        nn.Unflatten(1, (channels, size, size)),
    )
    return made.requires_grad_(False)


def made_by(generator: nn.Module, count: int, latent: Latent = LATENT, seed: int = 5) -> Tensor:
    images: Tensor = generator(latent.draw(count, seed))
    return images


def noise_images(count: int, size: int = SIZE) -> NDArray[np.uint8]:
    return np.random.default_rng(1).integers(0, 256, (count, size, size, 3), dtype=np.uint8)


# Latent points


@pytest.mark.parametrize(("latent", "deviation"), [(Latent(6), 1.0), (UNIFORM, 3**-0.5), (TRUNCATED, 0.88)])
def test_points_follow_their_distribution_and_seed(latent: Latent, deviation: float) -> None:
    points = latent.draw(4000, 3)
    assert (points.shape, points.dtype) == ((4000, 6), torch.float32)
    assert torch.equal(points, latent.draw(4000, 3))
    assert not torch.equal(points, latent.draw(4000, 4))
    assert abs(float(points.mean())) < 0.03
    assert float(points.std()) == pytest.approx(deviation, abs=0.02)
    assert torch.allclose(latent.to_latent(latent.to_unconstrained(points)), points, atol=1e-5)


def test_a_class_is_drawn_and_kept_by_a_search() -> None:
    latent = Latent(6, "truncated-normal", 4)
    points = latent.draw(4000, 3)
    assert torch.equal(points[:, :6], TRUNCATED.draw(4000, 3))
    assert set(points[:, 6:].sum(1).tolist()) == {1.0}
    assert points[:, 6:].mean(0).tolist() == pytest.approx([0.25] * 4, abs=0.03)
    found = latent.to_unconstrained(points).requires_grad_()
    (gradient,) = torch.autograd.grad(latent.to_latent(found).square().sum(), found)
    assert gradient[:, :6].any()
    assert not gradient[:, 6:].any()
    assert torch.allclose(latent.to_latent(found), points, atol=1e-5)


def test_classes_are_searched_even_with_few_candidates() -> None:
    """The images of a class are far from those of all others."""
    latent = Latent(6, classes=40)
    steps = torch.nn.functional.interpolate(torch.rand((40, 3, 2, 2), generator=torch.manual_seed(1)), SIZE).flatten(1)
    waves = 0.1 * torch.randn((6, steps.shape[1]), generator=torch.manual_seed(2))

    def generator(points: Tensor) -> Tensor:
        return torch.tanh(points @ torch.cat([waves, 4.0 * steps - 2.0])).reshape(-1, 3, SIZE, SIZE)

    targets = generator(latent.draw(12, 5))
    assert (Search(generator, latent, PLAN).recover(targets, 0).error < VERBATIM).all()


def test_bounded_points_never_leave_their_cube() -> None:
    """A uniform distribution never draws images outside its cube. A normal distribution can draw every point."""
    normal = Latent(6)
    far = torch.full((3, 6), 4.0)
    assert float(UNIFORM.to_latent(far).abs().max()) <= 1.0
    assert float(TRUNCATED.to_latent(far).abs().max()) <= 2.0
    assert torch.equal(normal.to_latent(far), far)
    generator = decoder()
    target = generator(far[:1])
    within = Search(generator, UNIFORM, PLAN).recover(target, 0)
    anywhere = Search(generator, normal, PLAN).recover(target, 0)
    assert anywhere.error[0] < 0.5 * within.error[0]


@pytest.mark.parametrize(("dimension", "law"), [(0, "normal"), (5000, "normal"), (5, "cauchy")])
def test_invalid_latent_spaces_are_refused(dimension: int, law: str) -> None:
    with pytest.raises(Invalid) as refused:
        Latent(dimension, law)  # type: ignore[arg-type]
    assert refused.value.slug == "bad-latent"


# Plans


def test_plans_are_json() -> None:
    plan = AuditPlan(train=50, region=(0.0, 0.25, 0.5, 1.0), method="authors")
    assert plan_from(plan.as_json() | {"region": [0.0, 0.25, 0.5, 1.0]}) == plan
    for parameters, why in (
        ({"speed": 1}, "has no parameter speed"),
        ({"starts": "ten"}, "starts is ten; it must be a whole number"),
    ):
        with pytest.raises(Invalid, match=why):
            plan_from(parameters)


def test_the_operator_can_choose_the_authors_method() -> None:
    annotation: Any = Settings.model_fields["recovery"].annotation
    setting: Any = TypeAdapter(annotation)
    plan = plan_from(setting.validate_json('{"method": "authors", "region": [0.0, 0.0, 0.5, 1.0], "train": 400}'))
    assert (plan.method, plan.region, plan.train, plan.starts) == ("authors", (0.0, 0.0, 0.5, 1.0), 400, 1)
    assert plan_from({"method": "authors", "starts": 10}).starts == 10


@pytest.mark.parametrize(
    "wrong",
    [
        {"entry": 7},
        {"stability": -1},
        {"train": 7},
        {"starts": 0},
        {"distorted": -1},
        {"method": "adam"},
        {"region": (0.5, 0.0, 0.5, 1.0)},
    ],
)
def test_invalid_plans_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Invalid) as refused:
        AuditPlan(**wrong)  # type: ignore[arg-type]
    assert refused.value.slug == "bad-plan"


# Recovery


@pytest.mark.parametrize("latent", [LATENT, UNIFORM, TRUNCATED])
def test_a_generators_own_images_are_recovered(latent: Latent) -> None:
    generator = decoder(latent)
    targets = made_by(generator, 20, latent)
    result = Search(generator, latent, PLAN).recover(targets, 0)
    assert (result.error < 1e-4).mean() >= 0.9
    best = result.error < 1e-4
    assert torch.allclose(result.image[best], targets[best], atol=0.05)


def test_the_error_is_the_mean_square_of_the_shown_difference() -> None:
    generator = decoder()
    targets = to_targets(noise_images(9))
    result = Search(generator, LATENT, replace(PLAN, batch=4)).recover(targets, 0)
    by_definition = (result.image.double() - targets.double()).square().mean(dim=(1, 2, 3))
    assert result.error == pytest.approx(by_definition.numpy(), rel=1e-5)
    again = Search(generator, LATENT, replace(PLAN, batch=4)).recover(targets, 0)
    assert np.array_equal(result.error, again.error)
    assert result.evaluations == again.evaluations > 9


def test_more_starts_are_never_worse() -> None:
    generator = decoder()
    targets = to_targets(noise_images(12))
    one = Search(generator, LATENT, replace(PLAN, starts=1)).recover(targets, 0)
    four = Search(generator, LATENT, replace(PLAN, starts=4)).recover(targets, 0)
    assert (four.error <= one.error).all()
    assert (four.error < one.error).any()


def test_the_authors_method_finds_less() -> None:
    generator = decoder()
    targets = made_by(generator, 20)
    own_search = Search(generator, LATENT, PLAN).recover(targets, 0)
    authors_search = Search(generator, LATENT, replace(PLAN, method="authors", starts=1)).recover(targets, 0)
    assert np.mean(own_search.error < 1e-4) > np.mean(authors_search.error < 1e-4)
    assert authors_search.evaluations <= 20 * 51


def test_restarts_find_images_that_the_authors_method_misses() -> None:
    """As in the paper's table 2: the same steps from ten points instead of one."""
    generator = decoder()
    targets = made_by(generator, 20)
    search = Search(generator, LATENT, replace(PLAN, method="authors", starts=10))
    recovered = search.recover(targets, 0)
    assert recovered.by_start.shape == (10, 20)
    assert (np.diff(recovered.by_start, axis=0) <= 0).all()
    assert np.array_equal(recovered.by_start[-1], recovered.error)
    one = replace(search, plan=replace(search.plan, starts=1)).recover(targets, 0)
    assert np.array_equal(recovered.by_start[0], one.error)
    found = (recovered.by_start < VERBATIM).mean(axis=1)
    assert found[-1] > found[0]


def test_stability_follows_a_search_from_every_start() -> None:
    generator = decoder()
    search = Search(generator, LATENT, PLAN)
    shares: list[float] = []
    stability = search.stability(made_by(generator, 5), 3, shares.append)
    assert stability.errors.shape == (5, PLAN.iterations + 1, 5)
    assert (np.diff(stability.errors, axis=1) <= 1e-9).all(), "the line search accepts no worse point"
    assert len({tuple(curve[0]) for curve in stability.errors}) == 5, "every target has five starts"
    assert shares == pytest.approx([0.2, 0.4, 0.6, 0.8, 1.0])
    assert stability.as_json()["starts"] == 5
    assert stability.found.mean() > 0.5


def test_larger_and_grey_images_are_pooled_and_spread() -> None:
    large, grey = decoder(size=16), decoder(channels=1)
    points = LATENT.draw(3, 0)
    pooled = large(points).reshape(3, 3, 8, 2, 8, 2).mean(dim=(3, 5))
    assert torch.allclose(images_at(large, points, SIZE), pooled, atol=1e-6)
    assert torch.equal(images_at(grey, points, SIZE), grey(points).repeat(1, 3, 1, 1))


def test_pixels_survive_the_round_trip() -> None:
    images = noise_images(5)
    assert np.array_equal(to_pixels(to_targets(images)), images)
    wrongs: list[Any] = [images.astype(np.float32), images[..., :1], images[:, :4]]
    for wrong in wrongs:
        with pytest.raises(Invalid) as refused:
            to_targets(wrong)
        assert refused.value.slug == "bad-images"


class Together(nn.Module):
    """A generator with rows that depend on each other, as with batch normalisation in training mode."""

    def forward(self, points: Tensor) -> Tensor:
        rows = points - points.mean(0)
        return torch.tanh(rows[:, :3, None, None].expand(-1, 3, SIZE, SIZE))


class Louder(nn.Module):
    """A layer with values above 1."""

    def forward(self, images: Tensor) -> Tensor:
        return 3 * images


def test_generators_that_cannot_be_searched_are_refused() -> None:
    loud = nn.Sequential(decoder(), nn.Upsample(scale_factor=2), Louder())
    broken = decoder()
    next(broken.parameters()).fill_(np.nan)
    cases: dict[str, list[nn.Module]] = {
        "bad-generator": [loud, broken, decoder(size=4), decoder(channels=2), nn.Linear(6, 5)],
        "rows-depend": [Together()],
    }
    for slug, generators in cases.items():
        for generator in generators:
            with pytest.raises(Invalid) as refused:
                require_images(generator, LATENT, SIZE, seed=0)
            assert refused.value.slug == slug
    require_images(decoder(), LATENT, SIZE, seed=0)


# A region alone


def test_only_the_region_counts() -> None:
    generator = decoder()
    targets = made_by(generator, 12)
    changed = targets.clone()
    changed[:, :, 4:] = 0.9  # the lower half belongs to another image
    upper = Search(generator, LATENT, replace(PLAN, region=(0.0, 0.0, 0.5, 1.0))).recover(changed, 0)
    whole = Search(generator, LATENT, PLAN).recover(changed, 0)
    assert np.median(upper.error) < 1e-3
    assert np.median(whole.error) > 0.05
    by_definition = (upper.image - changed)[:, :, :4].double().square().mean(dim=(1, 2, 3))
    assert upper.error == pytest.approx(by_definition.numpy(), rel=1e-4, abs=1e-9)


def test_a_region_without_pixels_is_refused() -> None:
    with pytest.raises(Invalid, match="contains no pixel"):
        build_mask(AuditPlan(region=(0.0, 0.0, 0.01, 1.0)), SIZE)


# Distortion


@pytest.mark.parametrize("how", DISTORTIONS)
def test_distorted_own_images_have_larger_errors(how: str) -> None:
    generator = decoder()
    targets = made_by(generator, 16)
    rows = DISTORTIONS[how](targets.permute(0, 2, 3, 1).numpy(), np.random.default_rng(0))
    changed = torch.from_numpy(rows).permute(0, 3, 1, 2).contiguous()
    search = Search(generator, LATENT, PLAN)
    clean, distorted = search.recover(targets, 0), search.recover(changed, 0)
    assert np.median(distorted.error) > 10 * np.median(clean.error)


def test_distortions_have_their_stated_size() -> None:
    random = np.random.default_rng(0)
    ramp = np.broadcast_to(np.linspace(-1, 1, 32, dtype=np.float32)[:, None, None], (40, 32, 32, 3)).copy()
    bent = warp_images(ramp, np.random.default_rng(1), shift=0.05)
    middle = (bent - ramp)[:, 10:22, 10:22]  # away from the edges, a ramp changes by the shift times its slope
    assert middle.std() * 31 / 2 / 32 == pytest.approx(0.05, rel=0.25)
    assert np.abs(warp_images(ramp, random, shift=0.0) - ramp).max() < 1e-6
    covered = patch_images(ramp, random)
    assert ((covered != ramp).any(axis=3).sum(axis=(1, 2)) == 64).all()
    assert (add_noise(ramp, random, deviation=0.3) - ramp).std() == pytest.approx(0.3, rel=0.02)
    for distortion in DISTORTIONS.values():
        one, other = (distortion(ramp, np.random.default_rng(2)) for _ in range(2))
        assert np.array_equal(one, other)
        assert one.dtype == np.float32
        assert not np.array_equal(one, ramp)


# Encoders


def test_an_encoder_replaces_the_search() -> None:
    """AEGAN has an encoder that knows the latent points. CycleGAN has two networks that invert each other, or do
    not."""
    generator = decoder()
    points = LATENT.draw(10, 5)
    targets = generator(points)
    result = reconstruct(generator, lambda some: points[: len(some)], targets, batch=10)
    assert result.error == pytest.approx(np.zeros(10), abs=1e-12)
    images = to_targets(noise_images(10))
    assert reconstruct(lambda y: -y, lambda y: -y, images).error == pytest.approx(np.zeros(10), abs=1e-12)
    halved = reconstruct(lambda y: y / 2, lambda y: y, images)
    assert halved.error == pytest.approx((images.double() / 2).square().mean(dim=(1, 2, 3)).numpy())
    shares_seen: list[float] = []
    reconstruct(lambda y: y, lambda y: y, images, batch=3, progress=shares_seen.append)
    assert shares_seen == sorted(shares_seen)
    assert shares_seen[-1] == 1.0


def test_invalid_encoders_are_refused() -> None:
    images = to_targets(noise_images(4))
    for encoder in (lambda some: some[:2], lambda some: some / 0.0):
        with pytest.raises(Invalid) as refused:
            reconstruct(lambda some: some, encoder, images)
        assert refused.value.slug == "bad-encoder"


# Likeness


def test_roughness_of_known_images() -> None:
    flat = np.full((1, 4, 4, 3), 90, np.uint8)
    stripes = flat.copy()
    stripes[:, ::2] = 255
    assert roughness(np.concatenate((flat, stripes))) == pytest.approx([0.0, (165 / 127.5) ** 2])
