"""Teams, their members, invitations, merges and final picks."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ColumnElement, ForeignKey, Index, UniqueConstraint, select, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, aliased, mapped_column, relationship

from scorer.db.tables.accounts import Account, WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Competition


class Team(Table):
    """A team that competes, or a benchmark: an organizer's reference, which is shown but never ranked or penalised."""

    __tablename__ = "teams"
    __table_args__ = (
        UniqueConstraint("competition_id", "name"),
        Index("ix_teams_name", "competition_id", text("lower(NORMALIZE(name, NFKC))")),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    name: Mapped[str]
    """The current name; earlier names are in ``team_renamings``."""
    benchmark: Mapped[bool]
    created_at: Mapped[datetime]


class Membership(Table):
    """A person joined or left a team. The newest row of a person in a competition is their current membership."""

    __tablename__ = "memberships"
    __table_args__ = (
        Index("ix_memberships_newest", "competition_id", "account_id", text("id DESC")),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    joined: Mapped[bool]
    """False if the person left."""
    created_at: Mapped[datetime]

    @classmethod
    def is_current(cls) -> ColumnElement[bool]:
        """Whether a row is a person's current membership: their newest in its competition, unless they left."""
        later = aliased(cls)
        same_person = (later.competition_id == cls.competition_id) & (later.account_id == cls.account_id)
        return cls.joined & ~select(later.id).where(same_person, later.id > cls.id).exists()


class TeamRenaming(Table):
    __tablename__ = "team_renamings"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    before: Mapped[str]
    after: Mapped[str]
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    created_at: Mapped[datetime]


class TeamMerge(Table):
    """A merge of a team into another one, with all its submissions. The newest row of a team counts.

    If the other team is merged later, the first team also gets a new row, so no query has to follow a chain.
    """

    __tablename__ = "team_merges"
    __table_args__ = (
        Index("ix_team_merges_newest", "team_id", text("id DESC")),
        CheckConstraint("team_id <> into_team_id", name="two"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id), index=True)
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    into_team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    account_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    """The member of the merged team who accepted."""
    created_at: Mapped[datetime]


class TeamInvitation(Table):
    """An invitation of a person to join a team, or of another team to merge into it."""

    __tablename__ = "team_invitations"
    __table_args__ = (
        CheckConstraint("(account_id IS NULL) <> (invited_team_id IS NULL)", name="invited"),
        CheckConstraint("state IN ('open', 'accepted', 'declined', 'withdrawn')", name="state"),
        CheckConstraint("(state = 'open') = (answered_at IS NULL)", name="answered"),
        Index(
            "uq_team_invitations_account", "team_id", "account_id", unique=True, postgresql_where=text("state = 'open'")
        ),
        Index(
            "uq_team_invitations_team",
            "team_id",
            "invited_team_id",
            unique=True,
            postgresql_where=text("state = 'open'"),
        ),
    )

    id: Mapped[int] = identity()
    competition_id: Mapped[int] = mapped_column(ForeignKey(Competition.id))
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    account_id: Mapped[int | None] = mapped_column(ForeignKey(Account.id), index=True)
    """The invited person; None if a team is invited."""
    invited_team_id: Mapped[int | None] = mapped_column(ForeignKey(Team.id), index=True)
    invited_by: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)
    state: Mapped[str]
    created_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]
    answered_by: Mapped[int | None] = mapped_column(ForeignKey(Account.id))

    team: Mapped[Team] = relationship(foreign_keys=[team_id])
    invited_team: Mapped[Team | None] = relationship(foreign_keys=[invited_team_id])
    account: Mapped[Account | None] = relationship(foreign_keys=[account_id])
    inviter: Mapped[Account] = relationship(foreign_keys=[invited_by])


class PickSet(WithAuthor, Table):
    """A team's final picks, the submissions that it wants to be ranked by in the end. The newest set counts; an empty
    set withdraws the choice."""

    __tablename__ = "pick_sets"
    __table_args__ = (Index("ix_pick_sets_newest", "team_id", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    submission_refs: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id), index=True)


class TeamMessage(WithAuthor, Table):
    """A message of the organizers to a team. It stays with the team after a merge."""

    __tablename__ = "team_messages"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id), index=True)
    text: Mapped[str]
