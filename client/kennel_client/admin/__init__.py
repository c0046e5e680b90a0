"""What organizers and admins do from Python, with either client: ``client.admin.thresholds.retune(...)``.

admin: one attribute for each noun
competitions: setting competitions up; importing results of others
references: reference sets, and preparing the tracks
data_files: files for participants
people: who is invited, who organizes and reviews
teams, announcements: teams and messages to them; what everybody is told
submissions: labels, requests for code and its download, benchmark entries
reviews: the review queue
rulings: rulings and rebuttals
thresholds: tau, its preview and history
tracks: the private track's extractor; tracks that are shown and not ranked
campaigns: rescoring campaigns
publication: the checklist; publishing and withdrawing a board
releases: data releases
ratings: studies of human ratings
accounts, audit_log, jobs: people of the installation, what organizers did, queues and pauses
arguments: types of arguments that several nouns share
"""
