"""Rescoring campaigns, which measure entries of a track again, and the decisions about them."""

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.dialects.postgresql import ARRAY
from sqlalchemy.orm import Mapped, mapped_column, relationship

from scorer.db.tables.accounts import WithAuthor
from scorer.db.tables.base import APPEND_ONLY, Table, identity
from scorer.db.tables.competitions import Preparation, Track


class RescoringCampaign(WithAuthor, Table):
    """A campaign that measures entries of a track again. Its measurements count if its newest act of the kinds
    ``switch`` and ``undo`` is a ``switch``."""

    __tablename__ = "rescoring_campaigns"
    __table_args__ = ({"info": APPEND_ONLY},)

    id: Mapped[int] = identity()
    track_id: Mapped[int] = mapped_column(ForeignKey(Track.id), index=True)
    preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    """The references, in an extractor's feature space, that entries are measured against."""
    former_preparation_id: Mapped[int] = mapped_column(ForeignKey(Preparation.id))
    """The track's references when the campaign began. The same as above if only the scorer version is new."""
    submission_refs: Mapped[list[int] | None] = mapped_column(ARRAY(BigInteger))
    """The chosen entries; None for all."""
    reason: Mapped[str]

    preparation: Mapped[Preparation] = relationship(foreign_keys=preparation_id, lazy="joined", innerjoin=True)
    former_preparation: Mapped[Preparation] = relationship(foreign_keys=former_preparation_id)

    @property
    def keeps_references(self) -> bool:
        """Whether it measures against the references that the track already had."""
        return self.preparation_id == self.former_preparation_id

    @property
    def changes_space(self) -> bool:
        """Whether it measures in another feature space: with another extractor, or with other weights."""
        new, former = self.preparation, self.former_preparation
        weights = [(preparation.provenance or {}).get("weights_sha256") for preparation in (new, former)]
        return new.extractor != former.extractor or weights[0] != weights[1]


class RescoringAct(WithAuthor, Table):
    """A decision about a campaign: to pause, resume or end it, or whether its measurements count (``switch``) or no
    longer count (``undo``)."""

    __tablename__ = "rescoring_acts"
    __table_args__ = (
        Index("ix_rescoring_acts_newest", "campaign_id", text("id DESC")),
        CheckConstraint("kind IN ('pause', 'resume', 'cancel', 'switch', 'undo')", name="kind"),
        {"info": APPEND_ONLY},
    )

    id: Mapped[int] = identity()
    campaign_id: Mapped[int] = mapped_column(ForeignKey(RescoringCampaign.id))
    kind: Mapped[str]
    reason: Mapped[str]
