"""Organizers' pages for tuning a track.

thresholds: choosing tau, with a preview of every consequence.
private_extractor: comparing extractors and choosing the private track's.
shown_tracks: numbers beside the score, and a form for another one.
"""
