"""Schemas of evidence.

evidence: findings, cells and matched images of an entry
generators: generator uploads and audits
"""
