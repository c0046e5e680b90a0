"""Rescoring: entries of a track measured anew, beside what counts, until an organizer switches.

campaigns: starting a campaign, its progress, pausing and cancelling it
preview: whose rank, medal and prize a campaign would change
switching: letting a campaign's measurements count, and taking that back
"""
