"""A participant's and organizer's client of Kennel, and the reader of zips that the service checks them with.

errors: errors meant for people
archive: zips and PNGs, read and checked by the standard library alone
"""
