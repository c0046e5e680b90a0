"""All SQL of the service: tables, and queries under the name of the package that uses them. Nothing here commits.

tables: the tables as SQLAlchemy classes, one module for each package
session: the engine, sessions and read-only connections
connection_budget: how many connections all processes may open, and how many the server has
diagnostics: the server's settings, and what has been left undone for long
newest_rows: the newest rows of many owners by one statement
answer_timeouts: time limits on connecting, statements, locks, idle transactions and answers
backups: the rows of every table, written to files and loaded again
blob_references: which blobs rows refer to
grants: what the service's database role may do
retention: deletion of rows whose time is over
accounts, competitions, teams: people and credentials; competitions and references; members, merges, quotas
submissions, jobs: submissions, uploads and labels; the job queue, its load and failed jobs
leaderboard: judged scores, columns for ranking, the change feed
rescoring: which measurements count, and rescoring campaigns
tuning, review, evidence: thresholds and comparisons; flags, reviews and rulings; signs, generators and code
human_ratings, data_release, import_results: rating studies; data releases and their rows; what an import writes
personal_data: what is stored about a person, and what goes with their account
notifications, audit_log: notices, mails and webhook deliveries; what organizers did
announcements, competition_roles: what organizers tell people; who organizes and reviews
"""
