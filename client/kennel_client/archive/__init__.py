"""Zips of images: read and checked by the standard library alone, on a participant's machine as in the service.

Participants' files are untrusted: every read and loop is bounded by the image specification before it is made.
"""
