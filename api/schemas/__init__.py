"""Requests and responses of the JSON API, as pydantic models, and the functions that make them.

base: the base class of request bodies
second_factors: codes, passkeys, recovery codes
accounts: accounts, sessions, API tokens, one-time links
competitions: competitions, tracks, reference sets, data files, allowlists
teams: teams, invitations, final picks, limits
submissions: submissions, their state and measurements, resumable uploads
leaderboard: boards, and their CSV
tuning: thresholds, the private extractor's choice
rescoring: rescoring campaigns, previews of their switch
review: the review queue, reviews, rulings, publication
evidence: tests for copying, generator audits
insights: figures, the gallery, human ratings
import_export: data releases
notifications: notices and webhooks
audit_log: entries of the audit log
jobs: the backlog of the queues
announcements: announcements, messages to teams, requests for code, lists of teams
"""
