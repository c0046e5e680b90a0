"""Rules of a competition: their version, and which version an account has accepted."""

import hashlib
from collections.abc import Sequence

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import allowlist, competition_roles
from scorer.competitions.competition_state import CompetitionState
from scorer.db import accounts
from scorer.db.tables import Account, Competition, RulesAcceptance
from scorer.errors import Conflict, Forbidden


def compute_rules_version(competition: Competition) -> str | None:
    """Return the SHA-256 (hex) of the current rules; None without rules."""
    return hashlib.sha256(competition.rules.encode()).hexdigest() if competition.rules.strip() else None


def has_accepted(session: Session, competition: Competition, account: Account) -> bool:
    return competition.id in accepted_in(session, [competition], account)


def accepted_in(session: Session, competitions: Sequence[Competition], account: Account) -> set[int]:
    """Return the ids of the competitions without rules and of those whose current rules the account has accepted."""
    versions = {competition.id: compute_rules_version(competition) for competition in competitions}
    with_rules = [id_ for id_, version in versions.items() if version is not None]
    accepted = accounts.accepted_rules(session, with_rules, account.id) if with_rules else set()
    return {id_ for id_, version in versions.items() if version is None or (id_, version) in accepted}


def accept_rules(acting: Acting, state: CompetitionState, rules_sha256: str) -> RulesAcceptance:
    """Record that an account accepts version ``rules_sha256`` of the rules; idempotent.

    ``Conflict`` if the rules have changed.
    """
    allowlist.require_invited(acting.session, state.competition, acting.actor)
    version = compute_rules_version(state.competition)
    if version is None:
        raise Conflict("no-rules", "This competition has no rules to accept.")
    if rules_sha256 != version:
        raise Conflict("rules-changed", "The rules have changed. Please read them again.", rules_sha256=version)
    accounts.lock_account(acting.session, acting.actor.id)
    earlier = accounts.load_acceptance(acting.session, state.competition.id, acting.actor.id, rules_sha256=version)
    if earlier is not None:
        return earlier
    acceptance = RulesAcceptance(
        competition_id=state.competition.id, account_id=acting.actor.id, rules_sha256=version, created_at=acting.now
    )
    acting.session.add(acceptance)
    acting.session.flush()
    return acceptance


def require_entrant(session: Session, competition: Competition, account: Account, *, newest: bool = True) -> None:
    """``Forbidden`` if the account has a role in the competition, or :func:`require_acceptance` fails."""
    competition_roles.require_no_judge(session, competition, account)
    require_acceptance(session, competition, account, newest=newest)


def require_acceptance(session: Session, competition: Competition, account: Account, *, newest: bool = True) -> None:
    """``Forbidden`` unless the account is invited, if that is needed, and has accepted the current rules.

    Without ``newest`` any version of the rules counts, for uploads in progress during a change of the rules.
    """
    allowlist.require_invited(session, competition, account)
    version = compute_rules_version(competition)
    if version is None:
        return
    if accounts.load_acceptance(session, competition.id, account.id, rules_sha256=version if newest else None) is None:
        raise Forbidden(
            "rules-not-accepted",
            "Read and accept the rules of this competition first, on its page or with "
            f"PUT /api/v1/competitions/{competition.slug}/rules-acceptance.",
            rules_sha256=version,
            competition=competition.slug,
        )
