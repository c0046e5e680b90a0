"""What somebody may ask for who still has to set a second factor up: to see their account, do that, and sign out."""

SETUP_PATHS = frozenset({"/account", "/signout", "/api/v1/me", "/api/v1/session", "/api/v1/me/recovery-codes"})
SETUP_FOLDERS = ("/account/second-factor", "/api/v1/me/second-factors", "/api/v1/session/")
"""Paths that begin so belong to it, too."""


def is_setup_path(path: str) -> bool:
    """Whether a request's path belongs to setting a second factor up."""
    return path in SETUP_PATHS or path.startswith(SETUP_FOLDERS)
