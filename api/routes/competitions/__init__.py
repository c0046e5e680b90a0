"""JSON routes of competitions.

competitions: creating, changing, preparing and reading competitions
data_files: files for participants
allowlist: who may enter by invitation
"""
