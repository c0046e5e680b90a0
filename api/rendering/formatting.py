"""Formats times, numbers and stable names for pages. Pure: the current time is an argument."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime

from scorer.competitions.competition_state import CompetitionState
from scorer.findings import formatting
from scorer.findings.finding import INTERVALS_THAT_MISS
from scorer.findings.signs import SIGNS, SMALL_SUPPORT
from scorer.lifecycle import STAGES as STAGES  # noqa: PLC0414 - for the templates
from scorer.lifecycle import Phase
from scorer.review import rulings

PHASES = {
    Phase.DRAFT: "Draft",
    Phase.OPEN: "Open",
    Phase.REVIEW: "In review",
    Phase.PROVISIONAL: "Provisional",
    Phase.FINAL: "Final",
}
LABELS = {
    "legitimate": "a generative model",
    "mgan": "a GAN made to memorise",
    "sup": "seeds mapped to training images",
    "ae": "autoencoded training images",
    "aug": "training images, augmented",
    "other": "something else",
}
LABEL_KEYS = {"legitimate": "l", "mgan": "m", "sup": "s", "ae": "a", "aug": "u", "other": "o"}
INTENT_KEYS = {"intended": "i", "unintended": "n", "unclear": "c"}
RULINGS = {"keep": "Keep the entry as scored", "disqualify": "Disqualify the entry", "waive": "Waive the penalty"}
RULED = rulings.RULING_EFFECTS
counted = formatting.counted
span = formatting.span
before_or_after = formatting.before_or_after
p_value = formatting.format_p_value
intervals_that_miss = INTERVALS_THAT_MISS
RECOVERED = {
    "copies": "reproduces training images",
    "no-sign": "no sign of copying",
    "inconclusive": "inconclusive",
}
"""The verdicts of a generator audit."""
MATCHED = {
    "another-generator": "not the entry's generator",
    "other-distribution": "samples differ from the entry",
    "no-difference": "may be the entry's generator",
    "inconclusive": "inconclusive",
}
"""The verdicts on whether a generator made the entry."""
GROUPS = {
    "train": "training images",
    "held_out": "held-out images",
    "near_train": "training images near the entry",
    "near_held_out": "held-out images near the entry",
    "generated": "the generator's own images",
    "entry": "the entry's images",
}
"""The groups of images that latent recovery looks for."""
RECOVERY_NUMBERS = {
    "recovery_gap": "MRE-gap",
    "recovery_ks": "KS distance",
    "recovery_near_gap": "MRE-gap near the entry",
    "recovery_train": "MRE, training images",
    "recovery_held_out": "MRE, held-out images",
    "recovery_generated": "MRE, own images",
    "recovery_train_verbatim": "Training images found",
    "recovery_held_out_verbatim": "Held-out images found",
    "recovery_generated_verbatim": "Own images found",
    "recovery_entry_verbatim": "Entry's images found",
    "recovery_power": "Detectable share",
}
"""Names of the latent-recovery quantities that pages show as numbers."""
FIRST_RECOVERY_FINDINGS = ("recovery_gap", "recovery_ks", "recovery_near_gap", "recovery_power")
"""The quantities with sentences that are visible without unfolding anything."""
DISTRIBUTIONS = {
    "normal": "standard normal",
    "uniform": "uniform from -1 to 1",
    "truncated-normal": "standard normal, truncated to -2 to 2",
}
FID_DECIMALS = 3
DISTANCE_DECIMALS = 4
MIN_P_VALUE = 0.0001
"""Pages show smaller p-values as below this value."""
SIGNS_OF_COPYING = tuple(sign.name for sign in SIGNS if sign is not SMALL_SUPPORT)
ALARMS = frozenset(
    {"unpenalised-win", "copying", "copy", "same-zip", "shared-images", "recovered", *(sign.name for sign in SIGNS)}
)
"""The reasons of flags that indicate copying; pages mark them."""


def spoken(name: str) -> str:
    """A stable name with spaces: ``medal place`` for ``medal-place``."""
    return name.replace("-", " ")


def ago(moment: datetime, now: datetime) -> str:
    """``3 hours ago``, or ``just now`` within the last minute and for times in the future."""
    seconds = (now - moment).total_seconds()
    return "just now" if seconds < formatting.MINUTE else f"{span(seconds)} ago"


def until(moment: datetime, now: datetime) -> str:
    """``in 12 days``."""
    return f"in {span((moment - now).total_seconds())}"


BROWSERS = (("Edg", "Edge"), ("OPR", "Opera"), ("Firefox", "Firefox"), ("Chrome", "Chrome"), ("Safari", "Safari"))
SYSTEMS = (
    ("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows"), ("Mac OS", "macOS"),
    ("Linux", "Linux"),
)  # fmt: skip
"""(substring of the user agent, name), the more specific first: nearly all browsers also name Safari."""


def agent(text: str) -> str:
    """A readable user agent: ``Firefox on Linux``, or the string itself if the browser is unknown."""
    browser = next((name for sign, name in BROWSERS if sign in text), None)
    system = next((name for sign, name in SYSTEMS if sign in text), None)
    return f"{browser} on {system}" if browser and system else text or "unknown"


def exact(moment: datetime) -> str:
    """The time in UTC, with seconds unless they are 0: ``14 Nov 2026, 23:59 UTC``."""
    utc = moment.astimezone(UTC)
    clock = "%H:%M:%S" if utc.second else "%H:%M"
    return f"{utc.day} {utc.strftime('%b %Y')}, {utc.strftime(clock)} UTC"


def machine(moment: datetime, timespec: str = "seconds") -> str:
    """The time for ``<time datetime>``: RFC 3339 in UTC. The addresses of past boards need microseconds:
    ``timespec="auto"``."""
    return moment.astimezone(UTC).isoformat(timespec=timespec).replace("+00:00", "Z")


def field(moment: datetime) -> str:
    """The time for ``<input type="datetime-local">``, in UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M")


def number(value: float, decimals: int) -> str:
    return f"{value:,.{decimals}f}"


def significant(value: float, digits: int = 3) -> str:
    """Never in powers of ten: ``0.0412``, ``-12.3``, ``1,204``."""
    if value == 0.0 or not math.isfinite(value):
        return f"{value:.0f}"
    return number(
        value, max(0, digits - 1 - math.floor(math.log10(abs(value)))) if abs(value) >= MIN_P_VALUE else digits
    )


def chance(p_value: float) -> str:
    """A p-value with its relation: ``= 0.032``, ``< 0.0001``."""
    return "< 0.0001" if p_value < MIN_P_VALUE else f"= {p_value:.2g}"


def error(value: float, digits: int = 2) -> str:
    """An error of latent recovery. Below 0.0001, the images look the same."""
    return f"{value:.{digits}g}" if value >= 1e-4 else "< 0.0001"


def size(count: int) -> str:
    """Bytes in the largest fitting unit, rounded down because the value may be a limit: ``98.3 MB``."""
    for unit, name in ((10**9, "GB"), (10**6, "MB"), (10**3, "kB")):
        if count >= unit:
            return f"{count * 10 // unit / 10:.1f} {name}"
    return counted(count, "byte")


@dataclass(frozen=True)
class Deadline:
    """The next or last event of a competition, as a sentence and a time."""

    words: str
    moment: datetime | None

    def counts_down(self, now: datetime) -> bool:
        """Whether the event is less than a day ahead: an open page counts down the last hour."""
        return self.moment is not None and 0 < (self.moment - now).total_seconds() < formatting.DAY


def deadline(state: CompetitionState, now: datetime) -> Deadline:
    """When a competition opens, closes or closed, depending on its phase."""
    opens, closes = state.competition.opens_at, state.competition.closes_at
    if state.phase is Phase.DRAFT:
        return (
            Deadline(f"Opens {until(opens, now)}", opens) if opens and opens > now else Deadline("Not open yet", None)
        )
    if closes is None:
        return Deadline("No closing date", None)
    # The phase does not show whether the deadline has passed: an organizer may publish the final board earlier.
    return Deadline(f"Closes {until(closes, now)}" if now < closes else f"Closed {ago(closes, now)}", closes)
