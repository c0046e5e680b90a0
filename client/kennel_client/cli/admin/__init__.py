"""``kennel admin``: what organizers and admins do through the API, a module for each noun of the command.

accounts: suspending accounts, signing them out, links to sign up with
audit: the audit log, and audits of generators
campaigns: measuring entries anew
competitions: setting up, changing, announcing, publishing, pausing
extractors: comparing extractors for the private track
files: what participants may download
guests: who is invited into a competition
queues: what waits, runs and has failed
ratings: studies in which people rate images
rebuttals: what teams say against rulings, and the answers
references: the images that entries are measured against
releases: data releases
reviews: flagged entries and their reviews
roles: who organizes and reviews
rulings: rulings on entries
shown_tracks: numbers that are shown and not ranked
submissions: labels and code of entries
teams: members, messages, rulings on teams
thresholds: tau
workers: draining workers
"""
