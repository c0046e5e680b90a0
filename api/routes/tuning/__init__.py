"""JSON routes of tuning.

thresholds: choosing tau, its impact and its history
private_extractor: comparing extractors and choosing the private one
shown_tracks: numbers that are shown and not ranked
"""
