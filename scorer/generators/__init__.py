"""Generators that were handed in: read, fenced, and searched for their training images."""
