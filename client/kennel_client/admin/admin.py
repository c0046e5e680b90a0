"""What organizers and admins do, by noun."""

from kennel_client.admin.accounts import Accounts
from kennel_client.admin.announcements import Announcements
from kennel_client.admin.audit_log import AuditLog
from kennel_client.admin.campaigns import Campaigns
from kennel_client.admin.competitions import Competitions
from kennel_client.admin.data_files import DataFiles
from kennel_client.admin.jobs import Jobs
from kennel_client.admin.people import Guests, Roles
from kennel_client.admin.publication import Publication
from kennel_client.admin.ratings import Ratings
from kennel_client.admin.references import References
from kennel_client.admin.releases import Releases
from kennel_client.admin.reviews import Reviews
from kennel_client.admin.rulings import Rebuttals, Rulings
from kennel_client.admin.submissions import Submissions
from kennel_client.admin.teams import Teams
from kennel_client.admin.thresholds import Thresholds
from kennel_client.admin.tracks import PrivateExtractor, ShownTracks
from kennel_client.methods import Api, Methods


class Admin(Methods[Api]):
    """Organizers' and admins' methods, by noun: ``client.admin.thresholds.retune("dogs", "public")``. Answers are
    dictionaries whose types are in ``kennel_client.answers``; errors are those of the client."""

    def __init__(self, api: Api) -> None:
        super().__init__(api)
        self.accounts = Accounts(api)
        self.announcements = Announcements(api)
        self.audit_log = AuditLog(api)
        self.campaigns = Campaigns(api)
        self.competitions = Competitions(api)
        self.data_files = DataFiles(api)
        self.guests = Guests(api)
        self.jobs = Jobs(api)
        self.private_extractor = PrivateExtractor(api)
        self.publication = Publication(api)
        self.ratings = Ratings(api)
        self.rebuttals = Rebuttals(api)
        self.references = References(api)
        self.releases = Releases(api)
        self.reviews = Reviews(api)
        self.roles = Roles(api)
        self.rulings = Rulings(api)
        self.shown_tracks = ShownTracks(api)
        self.submissions = Submissions(api)
        self.teams = Teams(api)
        self.thresholds = Thresholds(api)
