"""Backups of an installation: its database as of one moment, and every blob, verified by hashes.

manifest: what a backup consists of, and the folder that several of them share
backup: making one
restore: loading one into an empty installation
"""
