"""Explanations: the sentence that says why a score is what it is, for example that the entry is penalised."""

from math import floor, log10

from scorer.db.leaderboard.scores import Score
from scorer.db.tables import Submission
from scorer.metrics.mifid import penalty

MAX_REASON_LENGTH = 200
"""The most characters of a ruling's reason that boards show."""


def shorten_reason(reason: str) -> str:
    """The first paragraph of a ruling's reason, shortened to ``MAX_REASON_LENGTH``."""
    paragraph = reason.strip().partition("\n")[0].strip()
    if len(paragraph) <= MAX_REASON_LENGTH:
        return paragraph
    return f"{paragraph[: MAX_REASON_LENGTH - 1].rsplit(' ', 1)[0]}…"


def why_copy(exact: int, mirrored: int, share: float) -> str:
    """The sentence that says why an entry is a copy and so has no score."""
    if exact + mirrored == 0:
        return "The features of its images equal those of training images."
    return f"{share:.0%} of its images are training images, pixel by pixel ({exact} as they are, {mirrored} mirrored)."


MAX_DECIMALS = 12


def explain(submission: Submission, judged: Score) -> str:
    if judged.copy:
        counts = submission.exact_copies or 0, submission.mirrored_copies or 0
        return f"It is a copy and has no score. {why_copy(*counts, submission.copied_share or 0.0)}"
    if submission.team.benchmark:
        return "It is a benchmark entry of the organizers. It has no rank and is never penalised."
    if judged.ruling == "waive":
        return "The organizers waived its penalty, so its score is its FID regardless of its memorization distance."
    disqualified = "It is disqualified and has no rank. " if judged.disqualified else ""
    return disqualified + penalty_sentence(judged.fid, judged.memorization_distance, judged.tau)


def penalty_sentence(fid: float, distance: float, tau: float | None) -> str:
    """The sentence that says whether and why an entry that is not a copy is penalised. ``tau`` None: no threshold
    yet."""
    if tau is None:
        return "It has no score yet, because the organizers have not chosen the threshold tau."
    # A tiny distance is shown with two significant digits.
    decimals = 3 if distance <= 0 else max(3, 1 - floor(log10(distance)))
    distance_text, tau_text = format_distinct(distance, tau, decimals)
    if distance < tau:
        penalised = f"so its FID of {_rough(fid)} is multiplied by {_rough(penalty(distance, tau))}."
        return f"Its memorization distance {distance_text} is below tau = {tau_text}, {penalised}"
    relation = "not below" if distance > tau else "exactly"
    return (
        f"Its memorization distance {distance_text} is {relation} tau = {tau_text},"
        " so it is not penalised and its score is its FID."
    )


def _rough(value: float) -> str:
    """A number with three significant digits, or with all digits before the point: ``6.49``, ``54.0``, ``1,530``."""
    return f"{value:#.3g}" if 1e-3 < value < 99.95 else f"{value:,.0f}"


def format_distinct(one: float, other: float, decimals: int) -> tuple[str, str]:
    """Two numbers with at least ``decimals`` decimals, and as many more as they need to differ."""
    for places in range(decimals, MAX_DECIMALS):
        texts = f"{one:.{places}f}", f"{other:.{places}f}"
        if one == other or texts[0] != texts[1]:
            return texts
    return repr(one), repr(other)
