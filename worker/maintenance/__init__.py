"""Periodic maintenance.

sweeper: frees expired leases and sends lost messages
cleanup: removes abandoned uploads, orphaned blobs, expired rows and old zips
"""
