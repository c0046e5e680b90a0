"""Rescoring: entries of a track measured anew, beside what counts, until an organizer switches.

campaigns: starting a campaign, pausing and cancelling it
campaign_status: how far a campaign is
requirements: what must hold for a decision about a campaign
preview: whose rank, medal and prize a campaign would change
switching: letting a campaign's measurements count, and taking that back
"""
