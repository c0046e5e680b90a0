"""The JSON API under ``/api/v1``.

accounts: accounts, sessions, API tokens
competitions: competitions, data files, allowlists
teams: teams, final picks
submissions: submissions, their files and events, resumable uploads
leaderboard: the boards
badge: a team's place as a picture for pages elsewhere
citations: competitions and entries as BibTeX
tuning: thresholds, the private extractor
rescoring: rescoring campaigns
review: the review queue, reviews, rulings, publication
evidence: evidence of copying, generators
insights: figures, the gallery, human ratings
import_export: data releases, imported results
notifications: notices, webhooks
audit_log: what organizers did
jobs: the backlog, for admins
health: whether the service can work
probes: liveness, readiness and metrics of a process, outside of the API
"""
