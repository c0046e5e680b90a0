"""The routers of all pages, mounted on the application."""

from fastapi import FastAPI

from api.pages import (
    announcements,
    api_reference,
    audit_log,
    competition_roles,
    competition_settings,
    competitions,
    evidence,
    import_export,
    jobs,
    new_competition,
    notifications,
    rescoring,
    team_lists,
    teams,
)
from api.pages.accounts import account, administration, oidc, second_factors, sign_in
from api.pages.insights import human_ratings, insights
from api.pages.review import code_requests, publication, review_queue
from api.pages.submissions import submissions, submit
from api.pages.tuning import private_extractor, shown_tracks, thresholds
from api.rendering import templates


def mount_most_requested(app: FastAPI) -> None:
    """Add the pages of competitions with their boards, which are to be matched before most of the API's routes."""
    app.include_router(competitions.router)


def mount_others(app: FastAPI) -> None:
    """Add all other pages and the static files."""
    for each in (
        sign_in,
        oidc,
        second_factors,
        account,
        administration,
        notifications,
        new_competition,
        competition_settings,
        submit,
        submissions,
        evidence,
        teams,
        competition_roles,
        announcements,
        team_lists,
        review_queue,
        code_requests,
        thresholds,
        private_extractor,
        shown_tracks,
        rescoring,
        insights,
        publication,
        jobs,
        import_export,
        human_ratings,
        audit_log,
        api_reference,
    ):
        app.include_router(each.router)
    app.include_router(templates.router)
