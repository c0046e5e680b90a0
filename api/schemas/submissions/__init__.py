"""Schemas of submissions.

submissions: a submission with its progress and measurements, and its state for event streams
uploads: resumable uploads
receipts: receipts and the keys they are signed with
"""
