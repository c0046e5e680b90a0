"""What a team adds to its results: the entries it wants to be ranked by, and the code behind an entry."""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.entries import Submission
from scorer.db.tables.people import Account
from scorer.db.tables.teams import Team


class PickSet(Table):
    """The entries that a team wants to be ranked by in the end; the newest set counts, an empty one takes the choice
    back."""

    __tablename__ = "pick_sets"
    __table_args__ = (Index("ix_pick_sets_newest", "team_id", text("id DESC")), {"info": APPEND_ONLY})

    id: Mapped[int] = identity()
    team_id: Mapped[int] = mapped_column(ForeignKey(Team.id))
    submission_refs: Mapped[list[int]] = mapped_column(ARRAY(BigInteger))
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)


class CodeAttachment(Table):
    """The code that made an entry, for reviewers; the newest one counts. Only its bytes are kept, of earlier ones the
    hashes."""

    __tablename__ = "code_attachments"
    __table_args__ = (
        Index("ix_code_attachments_newest", "submission_ref", text("id DESC")),
        CheckConstraint("kind IN ('zip', 'notebook')", name="kind"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    submission_ref: Mapped[int] = mapped_column(ForeignKey(Submission.ref))
    kind: Mapped[str]
    bytes: Mapped[int] = mapped_column(BigInteger)
    sha256: Mapped[str]
    blob_key: Mapped[str]
    author_id: Mapped[int] = mapped_column(ForeignKey(Account.id))
    created_at: Mapped[datetime]

    author: Mapped[Account] = relationship(lazy="joined", innerjoin=True)
