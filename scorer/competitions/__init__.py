"""Competitions: what organizers set up, and who may enter.

competition_roles: who organizes a competition, who reviews it
spec: the specification an organizer writes: images, dates, limits, prizes, tracks
setup: creating, changing and deleting a competition
change_rules, change_notices: what of it may still change, and who is told
board_terms: what is published with its boards: medals and prizes, now and then, and days for appeals
competition_state: a competition with its tracks and phase at a moment, as an account may see it
reference_sets: reference images by role
preparations: the references of a track in a feature space, computed once for equal inputs
worker_weights: whether a running worker has the weights of an extractor
shown_tracks: numbers that are shown and not ranked: which, how far they are, their jobs
shown_track_access: who sees which of them
data_files: files that participants download
rules: versions of the rules and their acceptance
allowlist: who may enter a competition by invitation
announcements: what organizers tell everybody
appeal_windows: when teams may appeal, and against what
penalty_notices: who is told that an entry is penalised after the provisional board is published
"""
