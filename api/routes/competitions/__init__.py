"""JSON routes of competitions.

competitions: creating, changing, preparing and reading competitions
data_files: files for participants
allowlist: who may enter by invitation
announcements: what the organizers tell everybody
competition_roles: who organizes, who reviews
"""
