"""Periodic maintenance.

sweeper: frees expired leases and sends lost messages
cleanup: removes abandoned uploads, orphaned blobs and expired rows
"""
