"""JSON routes of evidence.

evidence: findings of an entry on a track, and their images
generators: generator uploads and audits
"""
