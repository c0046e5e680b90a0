"""Zips of images, read and checked with the standard library only: on a participant's machine and in the service.

Participants' files are untrusted: the image specification bounds every read and loop in advance.
"""
