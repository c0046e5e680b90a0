"""What CI requires of the tests."""
