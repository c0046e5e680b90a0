"""Rules of a competition: their version, who has accepted which version, and so who may enter."""

import hashlib
from collections.abc import Sequence

from sqlalchemy.orm import Session

from scorer.acting import Acting
from scorer.competitions import allowlist, competition_roles
from scorer.competitions.competition_state import CompetitionState
from scorer.db import accounts
from scorer.db.tables import Account, Competition, RulesAcceptance
from scorer.errors import Conflict, Forbidden


def rules_version_of(competition: Competition) -> str | None:
    """The SHA-256 (hex) of the current rules; None without rules."""
    return hashlib.sha256(competition.rules.encode()).hexdigest() if competition.rules.strip() else None


def has_accepted(session: Session, competition: Competition, account: Account) -> bool:
    """Whether the account has accepted the current rules."""
    return competition.id in accepted_in(session, [competition], account)


def accepted_in(session: Session, competitions: Sequence[Competition], account: Account) -> set[int]:
    """Those of the competitions, by id, whose current rules the account has accepted, or that have none."""
    versions = {competition.id: rules_version_of(competition) for competition in competitions}
    with_rules = [id_ for id_, version in versions.items() if version is not None]
    accepted = accounts.accepted_rules(session, with_rules, account.id) if with_rules else set()
    return {id_ for id_, version in versions.items() if version is None or (id_, version) in accepted}


def accept_rules(acting: Acting, state: CompetitionState, rules_sha256: str) -> RulesAcceptance:
    """Record that an account accepts the version ``rules_sha256`` of the rules; idempotent. ``Conflict`` if the rules
    have changed since."""
    allowlist.require_invited(acting.session, state.competition, acting.actor)
    version = rules_version_of(state.competition)
    if version is None:
        raise Conflict("no-rules", "This competition has no rules to accept.")
    if rules_sha256 != version:
        raise Conflict("rules-changed", "The rules have changed since; please read them again.", rules_sha256=version)
    accounts.lock_account(acting.session, acting.actor.id)
    earlier = accounts.acceptance_of(acting.session, state.competition.id, acting.actor.id, rules_sha256=version)
    if earlier is not None:
        return earlier
    acceptance = RulesAcceptance(
        competition_id=state.competition.id, account_id=acting.actor.id, rules_sha256=version, created_at=acting.now
    )
    acting.session.add(acceptance)
    acting.session.flush()
    return acceptance


def require_entrant(session: Session, competition: Competition, account: Account, *, newest: bool = True) -> None:
    """``Forbidden`` unless the account may enter: it judges nothing here and :func:`require_acceptance` lets it."""
    competition_roles.require_no_judge(session, competition, account)
    require_acceptance(session, competition, account, newest=newest)


def require_acceptance(session: Session, competition: Competition, account: Account, *, newest: bool = True) -> None:
    """``Forbidden`` unless the account is invited, where that is needed, and has accepted the current rules, or
    (without ``newest``) any version of them, for an upload that was under way while they changed."""
    allowlist.require_invited(session, competition, account)
    version = rules_version_of(competition)
    if version is None:
        return
    if accounts.acceptance_of(session, competition.id, account.id, rules_sha256=version if newest else None) is None:
        raise Forbidden(
            "rules-not-accepted",
            "Please read and accept the rules of this competition first, on its page or by "
            f"PUT /api/v1/competitions/{competition.slug}/rules-acceptance.",
            rules_sha256=version,
            competition=competition.slug,
        )
