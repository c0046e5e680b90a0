"""Server-rendered HTML pages, over the same functions of :mod:`scorer` that the JSON API calls.

Every page works without JavaScript; scripts in ``static`` only spare reloads.

router: adds all pages and the static files to the application.
accounts: sign-up, sign-in (password or OpenID Connect) and the account's own page.
competitions: the list of competitions, and a competition's page with its board.
new_competition: the form for a new competition.
competition_form: the fields of a competition in a form.
competition_settings: what organizers change of a competition, and deleting a draft.
announcements: what the organizers tell everybody, and its feed.
team_lists: teams as organizers see them.
competition_roles: who organizes and reviews a competition.
leaderboard: a page of the board and its tabs, from a board. Pure.
submissions: the upload form, a team's entries, an entry with its results.
teams: a team with its members and invitations.
evidence: the generator upload form.
review: the review queue, an entry under review, publication of the final board.
tuning: thresholds, and the private track's extractor.
rescoring: rescoring campaigns.
insights: figures of a competition, human ratings.
import_export: data releases.
notifications: notices, and the channels by which they come.
jobs: the queues and failed jobs, for admins.
audit_log: what organizers and admins did.
api_reference: the API, for whoever writes a program; an introduction for language models.
"""
