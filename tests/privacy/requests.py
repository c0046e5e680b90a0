"""How the crawler calls every route.

A GET needs no entry if :func:`list_parameters` has values for its path, and for its query unless that is optional.
Every other route needs one.
"""

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from api.http.csrf import csrf_token
from scorer.insights import figures
from scorer.insights.figures import FIGURES
from scorer.tuning.impact import LIST_NAMES
from tests.factories import make_zip, noise_images
from tests.privacy.canaries import DATA_FILE, FIRST_ITEM, FIRST_REF, PASSWORD, PEOPLE, ROLES, RULES, SLUG, Canaries

IDS = frozenset(
    {
        "submission_id",
        "upload_id",
        "invitation_id",
        "notice_id",
        "webhook_id",
        "token_id",
        "session_id",
        "release_id",
        "rater_id",
    }
)
"""Parameters that name things with an owner. A thing of somebody else must look like one that does not exist."""


def nonexistent_id(planted: Any) -> Any:
    """An ID that does not exist. It is as long as the planted one, because the lengths of answers are compared."""
    return 100_007 if isinstance(planted, int) else f"{'zqnowhere':x<{len(planted)}}"


def list_parameters(planted: Canaries) -> Mapping[str, Sequence[Any]]:
    """Values of path and query parameters, by name. The insider's IDs come first."""
    ids = planted.ids
    return {
        "slug": [SLUG],
        "kind": ["public", "private"],
        "role": ["train", "private_extra"],
        "track": ["public", "private"],
        "number": [1],
        "format": ["json", "csv"],
        "late": ["false", "true"],
        "search": ["a"],
        "name": ["base.css"],
        "link": ["reset-link"],
        "submission_id": [ids[f"{state} {owner}"] for owner in ("own", "other") for state in ("scored", "waiting")],
        "upload_id": [ids["upload"]],
        "invitation_id": [ids["invitation made"]],
        "notice_id": [ids["notice"]],
        "webhook_id": [ids["webhook"]],
        "token_id": [ids["token of insider"]],
        "session_id": [ids["session of insider"]],
        "release_id": [ids["release"]],
        "study_id": [ids["study"]],
        "rater_id": [ids["rater"]],
        "item_id": [FIRST_ITEM],
        "campaign_id": [ids["campaign"]],
        "shown_track": [ids["shown track"]],
        "shown": [ids["shown track"]],
    }


@dataclass(frozen=True)
class RouteCall:
    """How to call a route.

    ``words`` replace values of :func:`list_parameters`. ``fails`` is the expected status of a route that no role can
    use here, for example without an OpenID Connect issuer. ``shows`` are the kinds of secrets that a role may read.
    Only ``roles`` make the call.
    """

    body: Callable[[str], Mapping[str, Any]] = field(default=lambda _: {})
    """Arguments of the client's ``request`` for a role: json, data, files, content, headers."""
    words: Callable[[Canaries], Mapping[str, Sequence[Any]]] = field(default=lambda _: {})
    fails: int | None = None
    shows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Sequence[str] = ROLES
    by_token: bool = False
    """Whether to use an API token, as programs do, instead of a browser session."""


def call_with(**arguments: Any) -> RouteCall:
    """A call with the same arguments in every role."""
    return RouteCall(lambda _: arguments)


def json_call(**fields: Any) -> RouteCall:
    return call_with(json=fields)


def form_call(**fields: Any) -> RouteCall:
    return call_with(data={"sent": "yes", **fields})


def slow_call(call: RouteCall) -> RouteCall:
    """A call in few roles, because it hashes a password."""
    return replace(call, roles=("visitor", "insider"))


def call_on(name: str, key: str, call: RouteCall | None = None) -> RouteCall:
    """A call with the planted ID ``key`` as the parameter ``name``."""
    call = call or RouteCall()
    return replace(call, words=lambda planted: {name: [planted.ids[key]]})


def multipart_call(**files: bytes) -> RouteCall:
    """A multipart form with a file and its own CSRF token."""

    def body(role: str) -> Mapping[str, Any]:
        return {"data": {"csrf": make_csrf_token(role)}, "files": {"file": ("file.zip", *files.values())}}

    return RouteCall(body)


def make_csrf_token(role: str) -> str:
    """The CSRF token of a role's browser."""
    return csrf_token(f"session-of-{role}") if role in PEOPLE else ""


def with_generator(role: str) -> Mapping[str, Any]:
    """The form that uploads a generator."""
    return {"data": {"csrf": make_csrf_token(role), **LATENT}, "files": {"file": ("a.onnx", b"\x08\x08")}}


def _code() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.py", "pass")
    return file.getvalue()


ENTRY = make_zip(noise_images(5))
LATENT = {"latent": "8", "distribution": "normal"}
CODE = _code()
TUS = {"Tus-Resumable": "1.0.0"}
PIECE = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
OPEN = {"Upload-Length": "1000", "Upload-Metadata": f"filename {base64.b64encode(b'a.zip').decode()}"}
RESULTS = b"submission_id,fid_public,fid_private,distance_public,distance_private\n1,2,3,0.4,0.5\n"
ACCEPTED = hashlib.sha256(RULES.encode()).hexdigest()
PERSON = {"handle": "newcomer", "name": "New", "email": "newcomer@example.org", "password": "a long new pass phrase"}
WEBHOOK = "https://hooks.example.org/new"
TITLE_DIGEST = hashlib.sha256(b"Kennels").hexdigest()[:16]
"""The digest of the title that the settings form shows."""
COMPETITION = {"slug": "new", "title": "New", "public": {"extractor": "tiny"}, "private": {"extractor": "tiny"}}
NEW_COMPETITION = {"slug": "typed", "entries": "images", "title": "Typed", "image_count": "9", "image_size": "32"} | {
    f"{kind}.extractor": "tiny" for kind in ("public", "private")
}
SHOWN_TO_REVIEWERS: Mapping[str, frozenset[str]] = {
    "reviewer": frozenset({"score", "evidence", "recovery", "team", "code"})
}
"""What reviewers see of an entry, including private scores. They never see the references."""
THEIR_ACTS = RouteCall(shows={"reviewer": frozenset({"team"})})
"""A person's own data includes their acts. Reviewers' acts name the entries that they judged."""
READS_CODE = RouteCall(shows={"reviewer": frozenset({"code"})})


def kaggle_call(fails: int | None = None, **fields: Any) -> RouteCall:
    """A call of the kaggle client."""
    return replace(json_call(**fields), by_token=True, fails=fails)


KAGGLE_COMPETITION: Mapping[str, Any] = {"competitionName": SLUG}
REVIEW, PAIRS = "/submissions/{submission_id}/review", "/api/v1/submissions/{submission_id}/pairs/{kind}"
REVIEWED: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731 - used in the table
    "submission_id": [planted.ids["scored own"]],
    "number": [1],
    "group": ["near-copies", "cell-1"],
    "side": ["generated", "reference"],
    "rebuttal_id": [100_007],
    "other_ref": [FIRST_REF],
    "handle": ["eve"],
}
RECOVERED: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731
    "submission_id": [planted.ids["scored own"]],
    "group": ["train", "held_out", "near_train", "near_held_out", "generated", "entry"],
}


def review_call(call: RouteCall, fails: int | None = None) -> RouteCall:
    """A call on the review page, about the insider's scored entry."""
    return replace(call, words=REVIEWED, shows=SHOWN_TO_REVIEWERS, fails=fails)


EVIDENCE = "/api/v1/submissions/{submission_id}/evidence/{kind}"
DATA: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda _: {"name": [DATA_FILE]}  # noqa: E731
WIRE, SERVICE = "/api/v1/competitions.CompetitionApiService", "/api/v1/{service}Service/{method}"

API, TEAM, PAGE = "/api/v1", "/api/v1/competitions/{slug}", "/competitions/{slug}"
FINISHED: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731
    "submission_id": [planted.ids["scored own"], planted.ids["scored other"]]
}

ANY_TAU: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda _: {"tau": [None, 0.45]}  # noqa: E731

RATING: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda _: {  # noqa: E731
    "kind": ["realism", "diversity"]
}
RATERS: Mapping[str, Mapping[str, Any]] = {
    "ratings/{study_id}": {},
    "rate": {"headers": {"Cookie": "kennel-rater=rate-link"}},
}
"""The places where people rate, with a role or with a link, and the headers for the link."""
HANDLE: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda _: {"handle": ["eve"]}  # noqa: E731
NO_FACTOR: Callable[[Canaries], Mapping[str, Sequence[Any]]] = lambda _: {"factor_id": [10**9]}  # noqa: E731
TOTP_KEY = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"
WAITING = RouteCall(fails=401)
"""For a session that waits for the second factor. No role has such a session."""
RATED = {"kind": "realism", "item": str(FIRST_ITEM), "value": "3"}
STUDY = {"images": 2, "grids": 1, "side": 2}
FILES = f"{TEAM}/releases/{{release_id}}/files"

CALLS: Mapping[str, RouteCall] = {
    "GET /metrics": RouteCall(fails=404),  # needs the operator's token, which is not set here
    f"POST {API}/admin/jobs/requeue": json_call(),
    f"POST {API}/admin/jobs/pauses": json_call(worker="no-such-machine"),
    "POST /admin/jobs/requeue": form_call(),
    f"POST {TEAM}/publication/requeue": RouteCall(),
    f"POST {PAGE}/publication": replace(form_call(act="final", reason="Over."), fails=409),
    f"POST {PAGE}/publication/requeue": form_call(),
    f"POST {TEAM}/releases": json_call(),
    f"PUT {TEAM}/releases/{{release_id}}/handed-out": json_call(shown=True),
    f"GET {FILES}/{{name}}": RouteCall(words=lambda _: {"name": ["tables.zip"]}),
    f"GET {FILES}/images/{{name}}": RouteCall(words=lambda _: {"name": ["s-1.zip"]}),
    f"GET {FILES}/generators/{{name}}": RouteCall(words=lambda _: {"name": ["s-1.onnx"]}),
    f"POST {PAGE}/release": form_call(images="none"),
    f"POST {PAGE}/release/{{release_id}}": form_call(act="out"),
    f"POST {TEAM}/ratings": json_call(**STUDY),
    f"POST {TEAM}/ratings/{{study_id}}/raters": json_call(name="Rita"),
    f"PUT {TEAM}/ratings/{{study_id}}/ended": RouteCall(),
    f"POST {PAGE}/ratings": form_call(**STUDY),
    f"POST {PAGE}/ratings/{{study_id}}/raters": form_call(name="Rita"),
    f"POST {PAGE}/ratings/{{study_id}}/raters/{{rater_id}}/dismissal": form_call(),
    f"POST {PAGE}/ratings/{{study_id}}/end": form_call(),
    "POST /rate/link": form_call(link="rate-link"),
    **{
        f"{method} /{where}": replace(call_with(**sent, **link), words=RATING)
        for where, link in RATERS.items()
        for method, sent in (("GET", {}), ("HEAD", {}), ("POST", {"data": RATED}))
    },
    **{
        f"{method} {API}/{where}/items{rest}": replace(call_with(**sent, **link), words=RATING)
        for where, link in RATERS.items()
        for method, rest, sent in (
            ("GET", "", {}),
            ("POST", "", {"json": {"kind": "realism", "ratings": {FIRST_ITEM: 4}, "more": 1}}),
            ("GET", "/{item_id}/picture", {}),
        )
    },
    f"GET {TEAM}/leaderboard/badge": RouteCall(words=lambda _: {"team": [None, "Alpha Kennel"]}),
    f"PUT {TEAM}/data/{{name}}": RouteCall(lambda _: {"content": b"1,2"}, DATA),
    f"GET {TEAM}/data/{{name}}": RouteCall(words=DATA),
    f"DELETE {TEAM}/data/{{name}}": RouteCall(words=DATA),
    f"POST {TEAM}/announcements": json_call(title="News", text="The close stays."),
    f"POST {PAGE}/announcements": form_call(title="News", text="The close stays."),
    f"GET {TEAM}/teams/{{team_id}}/messages": call_on("team_id", "team own"),
    f"POST {TEAM}/teams/{{team_id}}/messages": call_on("team_id", "team own", json_call(text="Well done.")),
    f"POST {TEAM}/teams/{{team_id}}/rulings": call_on(
        "team_id", "team own", json_call(kind="keep", reason="It is fine.")
    ),
    f"GET {PAGE}/teams/{{team_id}}": call_on("team_id", "team own"),
    f"HEAD {PAGE}/teams/{{team_id}}": call_on("team_id", "team own"),
    f"POST {PAGE}/teams/{{team_id}}/messages": call_on("team_id", "team own", form_call(text="Well done.")),
    f"POST {PAGE}/teams/{{team_id}}/rulings": call_on(
        "team_id", "team own", form_call(kind="keep", reason="It is fine.")
    ),
    f"PUT {API}/submissions/{{submission_id}}/code-request": review_call(json_call(until="2026-12-01T00:00:00Z")),
    f"POST {REVIEW}/code-request": review_call(form_call(days="7")),
    f"PUT {TEAM}/roles/{{handle}}": replace(json_call(role="reviewer"), words=lambda _: {"handle": ["newbie"]}),
    f"DELETE {TEAM}/roles/{{handle}}": RouteCall(words=lambda _: {"handle": ["rhea"]}),
    f"PUT {TEAM}/role": RouteCall(),
    f"DELETE {TEAM}/role": RouteCall(),
    f"POST {PAGE}/people": form_call(handle="newbie", role="reviewer"),
    f"POST {PAGE}/people/{{handle}}/end": replace(form_call(), words=lambda _: {"handle": ["rhea"]}),
    f"POST {PAGE}/role": form_call(accept="yes"),
    f"POST {WIRE}/ListCompetitions": kaggle_call(),
    f"POST {WIRE}/GetLeaderboard": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/DownloadLeaderboard": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/GetSubmission": kaggle_call(ref=FIRST_REF),
    f"POST {WIRE}/ListSubmissions": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/GetSubmissionLimits": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/ListDataFiles": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/DownloadDataFile": kaggle_call(**KAGGLE_COMPETITION, fileName=DATA_FILE),
    f"POST {WIRE}/DownloadDataFiles": kaggle_call(**KAGGLE_COMPETITION),
    f"POST {WIRE}/StartSubmissionUpload": kaggle_call(
        **KAGGLE_COMPETITION, contentLength=1000, fileName="a.zip", lastModifiedEpochSeconds=1
    ),
    f"POST {WIRE}/CreateSubmission": kaggle_call(
        400, **KAGGLE_COMPETITION, blobFileTokens="nothing", submissionDescription="d"
    ),
    "POST /api/v1/security.OAuthService/IntrospectToken": kaggle_call(token="token-of-insider"),
    f"POST {SERVICE}": replace(kaggle_call(404), words=lambda _: {"service": ["a.B"], "method": ["Any"]}),
    f"PUT {API}/kaggle/uploads/{{upload_id}}": RouteCall(
        lambda _: {
            "content": b"PK",
            "headers": {"Authorization": f"Basic {base64.b64encode(b'upload:wrong').decode()}"},
        },
        fails=404,
    ),
    f"GET {API}/kaggle/files/{{slug}}/{{name}}": RouteCall(words=DATA, by_token=True),
    f"GET {API}/kaggle/bundles/{{slug}}.zip": RouteCall(by_token=True),
    f"POST {API}/accounts": slow_call(json_call(**PERSON)),
    f"POST {API}/admin/accounts": json_call(handle="newcomer"),
    f"POST {API}/admin/invitations": json_call(),
    f"PUT {API}/admin/accounts/{{handle}}/suspension": replace(json_call(reason="Sold."), words=HANDLE),
    f"DELETE {API}/admin/accounts/{{handle}}/credentials": RouteCall(words=HANDLE),
    "POST /admin/accounts/{handle}/role": replace(form_call(role="organizer"), words=HANDLE),
    "POST /admin/accounts/{handle}/suspension": replace(form_call(reason="Sold."), words=HANDLE),
    "POST /admin/accounts/{handle}/credentials/end": replace(form_call(), words=HANDLE),
    f"PUT {API}/me/password": slow_call(json_call(old=PASSWORD, new="another long pass phrase")),
    f"PUT {API}/me/email": slow_call(json_call(email="another@example.org", password=PASSWORD)),
    f"POST {API}/me/deletion": slow_call(json_call(handle="ada", password=PASSWORD)),
    "GET /account/data": THEIR_ACTS,
    "POST /account/deletion": slow_call(form_call(handle="ada", password=PASSWORD)),
    f"POST {API}/email-confirmations": json_call(link="confirm-link"),
    f"POST {API}/password-resets": json_call(email="zq-insider-mail@example.org"),
    f"POST {API}/password-resets/completion": slow_call(
        json_call(link="reset-link", password="another long pass phrase")
    ),
    f"POST {API}/session": slow_call(json_call(login="ada", password=PASSWORD)),
    f"DELETE {API}/session": RouteCall(),
    f"POST {API}/session/passkey-options": WAITING,
    f"POST {API}/session/second-factor": replace(json_call(code="1"), fails=401),
    "GET /signin/second-factor": WAITING,
    "HEAD /signin/second-factor": WAITING,
    "POST /signin/second-factor": replace(form_call(code="1"), fails=401),
    f"POST {API}/me/second-factors/totp-key": RouteCall(),
    f"POST {API}/me/second-factors/totp": slow_call(
        replace(json_call(key=TOTP_KEY, code="000000", password=PASSWORD), fails=422)
    ),
    f"POST {API}/me/second-factors/passkey-options": slow_call(json_call(password=PASSWORD)),
    f"POST {API}/me/second-factors/passkeys": replace(json_call(credential="{}"), fails=422),
    f"POST {API}/me/second-factors/{{factor_id}}/removal": slow_call(
        replace(json_call(password=PASSWORD), words=NO_FACTOR, fails=404)
    ),
    f"POST {API}/me/recovery-codes": slow_call(replace(json_call(password=PASSWORD), fails=409)),
    "POST /account/second-factor/totp": slow_call(
        replace(form_call(key=TOTP_KEY, code="000000", password=PASSWORD), fails=422)
    ),
    "POST /account/second-factor/recovery-codes": slow_call(replace(form_call(password=PASSWORD), fails=409)),
    "POST /account/second-factor/{factor_id}/remove": slow_call(
        replace(form_call(password=PASSWORD), words=NO_FACTOR, fails=404)
    ),
    f"DELETE {API}/sessions/{{session_id}}": RouteCall(),
    f"POST {API}/tokens": json_call(name="new"),
    f"DELETE {API}/tokens/{{token_id}}": RouteCall(),
    f"POST {API}/competitions": json_call(**COMPETITION),
    f"PATCH {TEAM}": json_call(title="Another"),
    f"DELETE {TEAM}": RouteCall(fails=409),
    f"PUT {TEAM}/rules-acceptance": json_call(rules_sha256=ACCEPTED),
    f"PUT {TEAM}/references/{{role}}": RouteCall(lambda _: {"content": ENTRY}, fails=409),
    f"POST {TEAM}/tracks/{{kind}}/preparation": RouteCall(),
    f"POST {TEAM}/imports": RouteCall(lambda _: {"content": RESULTS}, fails=409),
    f"GET {TEAM}/insights/{{figure}}": RouteCall(
        words=lambda _: {"figure": (*FIGURES, figures.SHOWN_TRACK_FIGURE), "format": ["json", "svg"]}
    ),
    f"GET {TEAM}/gallery/{{submission_id}}": RouteCall(words=FINISHED),
    f"POST {TEAM}/publication": RouteCall(lambda _: {"json": {"published": True, "reason": "Over."}}, fails=409),
    # All roles already have a team or must not compete.
    f"POST {TEAM}/teams": replace(json_call(name="Gamma Kennel"), fails=409),
    f"PATCH {TEAM}/team": json_call(name="Alpha Two"),
    f"DELETE {TEAM}/team/membership": RouteCall(fails=409),
    f"POST {TEAM}/team/invitations": json_call(handle="rhea"),
    f"DELETE {TEAM}/team/invitations/{{invitation_id}}": RouteCall(),
    f"PUT {TEAM}/invitations/{{invitation_id}}/answer": call_on(
        "invitation_id", "invitation received", json_call(accept=False)
    ),
    f"POST {TEAM}/submissions": call_with(content=ENTRY),
    f"POST {API}/submissions/{{submission_id}}/cancel": call_on("submission_id", "waiting own"),
    f"GET {API}/submissions/{{submission_id}}/events": RouteCall(words=FINISHED),
    f"GET {API}/submissions/{{submission_id}}/code": READS_CODE,
    f"PUT {API}/submissions/{{submission_id}}/code": call_with(content=CODE),
    f"PUT {API}/submissions/{{submission_id}}/generator": call_with(content=b"\x08\x08", params=LATENT),
    f"GET {API}/submissions/{{submission_id}}/generator": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"POST {API}/submissions/{{submission_id}}/generator": review_call(RouteCall(), fails=409),
    f"GET {API}/submissions/{{submission_id}}/generator/pairs/{{group}}": replace(
        review_call(RouteCall()), words=RECOVERED
    ),
    "POST /submissions/{submission_id}/generator": RouteCall(with_generator),
    f"POST {TEAM}/uploads": call_with(headers={**TUS, **OPEN}),
    f"HEAD {API}/uploads/{{upload_id}}": call_with(headers=TUS),
    f"OPTIONS {API}/uploads/{{upload_id}}": call_with(headers=TUS),
    f"OPTIONS {TEAM}/uploads": call_with(headers=TUS),
    f"PATCH {API}/uploads/{{upload_id}}": call_with(headers=PIECE, content=b"PK"),
    f"POST {API}/uploads/{{upload_id}}": call_with(headers={**PIECE, "X-HTTP-Method-Override": "PATCH"}, content=b"PK"),
    f"DELETE {API}/uploads/{{upload_id}}": call_with(headers=TUS),
    f"PUT {API}/uploads/{{upload_id}}/note": json_call(note="another"),
    f"POST {API}/uploads/{{upload_id}}/complete": RouteCall(fails=409),
    f"PUT {API}/notices/read": json_call(up_to=1),
    f"PUT {API}/notices/{{notice_id}}/read": RouteCall(),
    f"PATCH {API}/me/mails": json_call(mailed={"ruling": False}),
    f"POST {API}/webhooks": json_call(url=WEBHOOK),
    f"DELETE {API}/webhooks/{{webhook_id}}": RouteCall(),
    f"POST {API}/webhooks/{{webhook_id}}/ping": RouteCall(),
    f"PUT {TEAM}/picks": json_call(submissions=[]),
    f"POST {TEAM}/allowlist": json_call(who=["eve", "newcomer@example.org"]),
    f"DELETE {TEAM}/allowlist/{{who}}": RouteCall(words=lambda _: {"who": ["zq-invited@example.org"]}),
    f"POST {TEAM}/tracks/{{kind}}/thresholds": json_call(method="manual", tau=0.45, preview=True),
    f"POST {TEAM}/tracks/{{kind}}/thresholds/undo": RouteCall(lambda _: {"json": {"reason": "No."}}, fails=409),
    f"GET {TEAM}/tracks/{{kind}}/thresholds/impact": RouteCall(words=ANY_TAU),
    f"GET {TEAM}/tracks/{{kind}}/thresholds/impact/{{name}}": RouteCall(
        words=lambda planted: {**ANY_TAU(planted), "name": LIST_NAMES}
    ),
    f"GET {TEAM}/tracks/{{kind}}/thresholds/{{threshold_id}}/changes": RouteCall(
        words=lambda _: {"threshold_id": [10**9]}, fails=404
    ),
    f"POST {TEAM}/private-extractor/comparisons": json_call(extractors=["efficientnet_lite0"]),
    f"PUT {TEAM}/private-extractor": RouteCall(
        lambda _: {"json": {"extractor": "inception_v3", "reason": "No."}}, fails=409
    ),
    f"POST {TEAM}/shown-tracks": json_call(name="another", metric="kid", extractor="tiny"),
    f"DELETE {TEAM}/shown-tracks/{{shown_track}}": RouteCall(),
    f"POST {TEAM}/shown-tracks/{{shown_track}}/measurements": RouteCall(),
    f"POST {TEAM}/rescoring": json_call(track="public", reason="A corrected scorer."),
    f"POST {TEAM}/rescoring/{{campaign_id}}/decisions": json_call(decision="resume", reason="Go on."),
    f"PUT {TEAM}/submissions/{{submission_id}}/label": call_on("submission_id", "scored own", json_call(label="aug")),
    f"GET {TEAM}/review-queue": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"POST {TEAM}/review-queue/next": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"GET {API}{REVIEW}": review_call(RouteCall()),
    f"POST {API}/submissions/{{submission_id}}/reviews": review_call(json_call(label="aug"), fails=409),
    f"PUT {API}/submissions/{{submission_id}}/early-label": review_call(json_call(label="aug")),
    f"GET {PAIRS}": review_call(RouteCall(), fails=404),
    f"GET {API}/submissions/{{submission_id}}/shared-images/{{other_ref}}": review_call(RouteCall(), fails=404),
    f"GET {EVIDENCE}": RouteCall(words=FINISHED, shows=SHOWN_TO_REVIEWERS),
    f"GET {EVIDENCE}/{{group}}": review_call(RouteCall(), fails=404),
    f"GET {API}/submissions/{{submission_id}}/file": RouteCall(shows=SHOWN_TO_REVIEWERS, fails=404),
    f"GET {API}/submissions/{{submission_id}}/draws/{{kind}}/{{number}}": RouteCall(
        shows=SHOWN_TO_REVIEWERS, fails=404
    ),
    f"GET {API}/submissions/{{submission_id}}/sprite": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"GET {API}/submissions/{{submission_id}}/rulings": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"POST {API}/submissions/{{submission_id}}/rulings": review_call(json_call(kind="keep", reason="It is fine.")),
    f"POST {API}/submissions/{{submission_id}}/rebuttals": review_call(json_call(text="Please look again."), fails=409),
    f"POST {API}/rebuttals/{{rebuttal_id}}/answer": review_call(json_call(ruling=None, answer="No."), fails=404),
    f"PUT {API}/accounts/{{handle}}/role": review_call(json_call(role="organizer")),
    f"GET {PAGE}/review-queue": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"HEAD {PAGE}/review-queue": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"GET {PAGE}/review-queue/next": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"HEAD {PAGE}/review-queue/next": RouteCall(shows=SHOWN_TO_REVIEWERS),
    f"GET {REVIEW}": review_call(RouteCall()),
    f"HEAD {REVIEW}": review_call(RouteCall()),
    f"POST {REVIEW}": review_call(form_call(label="aug"), fails=409),
    f"POST {REVIEW}/generator": review_call(form_call(), fails=409),
    f"POST {REVIEW}/label": review_call(form_call(label="aug")),
    f"POST {REVIEW}/ruling": review_call(form_call(kind="keep", reason="It is fine.")),
    f"POST {REVIEW}/rebuttals/{{rebuttal_id}}/answer": review_call(form_call(ruling="refuse", answer="No."), fails=404),
    "POST /submissions/{submission_id}/rebuttal": review_call(form_call(text="Please look again."), fails=409),
    "POST /new-competition": form_call(**NEW_COMPETITION),
    f"POST {PAGE}/settings": form_call(title="Another", **{"shown.title": TITLE_DIGEST}),
    f"POST {PAGE}/settings/delete": replace(form_call(confirm=SLUG), fails=409),
    f"POST {PAGE}/rules-acceptance": form_call(rules_sha256=ACCEPTED),
    "POST /signup": slow_call(form_call(**PERSON)),
    "POST /signin": slow_call(form_call(login="ada", password=PASSWORD)),
    "POST /signin/link": form_call(link="sign-in-link", next="/"),
    "POST /signout": RouteCall(),
    "POST /reset": form_call(email="zq-insider-mail@example.org"),
    "POST /new-password": slow_call(form_call(link="reset-link", password="another long pass phrase")),
    "POST /confirm": form_call(link="confirm-link"),
    "GET /signin/oidc": RouteCall(fails=503),
    "GET /signin/oidc/return": RouteCall(fails=401),
    "POST /account/tokens": form_call(name="new", scope="read"),
    "POST /account/tokens/{token_id}/revoke": RouteCall(),
    "POST /account/sessions/{session_id}/end": RouteCall(),
    "POST /account/password": slow_call(form_call(old=PASSWORD, new="another long pass phrase")),
    "POST /account/email": slow_call(form_call(email="another@example.org", password=PASSWORD)),
    "POST /notices/read": form_call(up_to="1"),
    "POST /account/notices/mails": form_call(mailed="ruling"),
    "POST /account/notices/webhooks": form_call(url=WEBHOOK),
    "POST /account/notices/webhooks/{webhook_id}/remove": RouteCall(),
    "POST /account/notices/webhooks/{webhook_id}/ping": RouteCall(),
    f"POST {PAGE}/submit": multipart_call(zip=ENTRY),
    "POST /submissions/{submission_id}/code": multipart_call(zip=CODE),
    "POST /submissions/{submission_id}/cancel": call_on("submission_id", "waiting own"),
    f"POST {PAGE}/picks": form_call(),
    f"POST {PAGE}/tau": form_call(track="private", method="manual", tau="0.3", reason="Because."),
    f"POST {PAGE}/tau/undo": RouteCall(lambda _: {"data": {"track": "public", "reason": "No."}}, fails=409),
    f"POST {PAGE}/private-extractor/comparisons": form_call(extractor="efficientnet_lite0"),
    f"POST {PAGE}/private-extractor": RouteCall(
        lambda _: {"data": {"extractor": "inception_v3", "reason": "No."}}, fails=409
    ),
    f"POST {PAGE}/shown-tracks": form_call(
        name="another_one", metric="kid", extractor="tiny", reference="public", visibility="organizers"
    ),
    f"POST {PAGE}/shown-tracks/{{shown_track}}/removal": RouteCall(),
    f"POST {PAGE}/shown-tracks/{{shown_track}}/measurements": RouteCall(),
    f"POST {PAGE}/rescoring": form_call(track="public", reason="A corrected scorer."),
    f"POST {PAGE}/rescoring/{{campaign_id}}": form_call(decision="resume", reason="Go on."),
    f"POST {PAGE}/team": replace(form_call(name="Gamma Kennel"), fails=409),
    f"POST {PAGE}/team/name": form_call(name="Alpha Two"),
    f"POST {PAGE}/team/invitations": form_call(handle="rhea"),
    f"POST {PAGE}/team/merges": form_call(team="Beta Kennel"),
    f"POST {PAGE}/team/invitations/{{invitation_id}}/withdrawal": RouteCall(),
    f"POST {PAGE}/team/invitations/{{invitation_id}}/answer": call_on(
        "invitation_id", "invitation received", form_call(accept="no")
    ),
    f"POST {PAGE}/team/leaving": RouteCall(fails=409),
}
