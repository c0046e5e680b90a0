"""A client of Kennel's HTTP API, for the command line and the demo.

api: requests, errors, file uploads.
resumable: resumable uploads, by tus or a presigned PUT.
references: attaching reference sets and preparing the tracks.
"""
