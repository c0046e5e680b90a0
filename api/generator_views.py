"""An entry's generator in the words of the API."""

from sqlalchemy.orm import Session

from api.generator_schemas import FormerView, GeneratorView, PairShown, PairsView, RecoveredView
from scorer.accounts.roles import is_organizer
from scorer.db.tables import Account, GeneratorFile, Recovery, Submission
from scorer.evidence import generator_audits
from scorer.evidence.generator_audits import IMAGE_GROUPS, AuditStatus


def generator_of(session: Session, submission: Submission, account: Account) -> GeneratorView | None:
    """The generator of an entry that this person may see."""
    found = generator_audits.audit_status(session, submission, account)
    return None if found is None else generator_view(submission.id, found, account)


def generator_view(submission_id: str, found: AuditStatus, account: Account) -> GeneratorView:
    """A generator, and what of its result is not hidden."""
    handed, came = found.generator, found.recovery
    return GeneratorView.model_validate(
        {name: getattr(handed, name) for name in ("bytes", "sha256", "distribution")}
        | {name: getattr(found, name) for name in ("state", "stage", "fraction", "queue_position", "refusal")}
        | {
            "latent": handed.dimension,
            "handed_in_by": handed.author.handle,
            "handed_in_at": handed.created_at,
            "faults": list(found.faults),
            "former": [_former(*each) for each in found.former],
            "result": None if came is None else _result(submission_id, came, held_out=is_organizer(account)),
        }
    )


def _former(handed: GeneratorFile, came: Recovery) -> FormerView:
    return FormerView(
        sha256=handed.sha256,
        handed_in_by=handed.author.handle,
        handed_in_at=handed.created_at,
        verdict=None if came.refusal is not None else generator_audits.verdict_of(came),
    )


def _result(submission_id: str, came: Recovery, *, held_out: bool) -> RecoveredView:
    """``held_out``: with what shows held-out photographs, or names them."""
    report = dict(came.report or {})
    pairs = report.pop("pairs")
    address = f"/api/v1/submissions/{submission_id}/generator/pairs"
    return RecoveredView(
        verdict=generator_audits.verdict_of(came),
        explanation=report["sentence"],
        p_value=came.p_value,
        gap=came.gap,
        recovered_share=came.recovered_share,
        report=report,
        pairs={
            group: PairsView(sheet=f"{address}/{group}", pairs=[PairShown(**each) for each in pairs[group]])
            for group in IMAGE_GROUPS
            if group in pairs and (held_out or group != "held_out")
        },
        measured_at=came.created_at,
    )
