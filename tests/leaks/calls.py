"""How every route is called. A GET is called by itself where each word of its path and of its query is in ``WORDS`` or
can be left out; every other route says here what its body is."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from api.http.csrf import csrf_token
from scorer.insights.figures import FIGURES
from tests.factories import noise, zipped
from tests.leaks.planting import DATA_FILE, FIRST_ITEM, FIRST_REF, PASSWORD, PEOPLE, ROLES, RULES, SLUG, Planted

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
"""The parameters that name things which belong to somebody: what is another's must look like what does not exist."""


def nowhere(planted: Any) -> Any:
    """An id of nothing, as long as a planted one: an answer's length must not differ either."""
    return 100_007 if isinstance(planted, int) else f"{'zqnowhere':x<{len(planted)}}"


def words_of(planted: Planted) -> Mapping[str, Sequence[Any]]:
    """What stands in paths and queries, by the name of the parameter. Ids are of the insider's things first."""
    ids = planted.ids
    return {
        "slug": [SLUG],
        "kind": ["public", "private"],
        "role": ["train", "private_extra"],
        "track": ["public", "private"],
        "format": ["json", "csv"],
        "late": ["false", "true"],
        "search": ["a"],
        "name": ["base.css"],
        "link": ["reset-link"],
        "submission_id": [ids[f"{state} {whose}"] for whose in ("own", "other") for state in ("scored", "waiting")],
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
    }


@dataclass(frozen=True)
class Call:
    """A request. ``words`` replace those of ``words_of``; ``fails`` is the status of a route that nobody can use here
    (an outside issuer that is not set up); ``shows`` are the kinds of secrets that a role reads by right; ``roles`` are
    those who call it."""

    body: Callable[[str], Mapping[str, Any]] = field(default=lambda _: {})
    """Arguments of the client's ``request`` for a role: json, data, files, content, headers."""
    words: Callable[[Planted], Mapping[str, Sequence[Any]]] = field(default=lambda _: {})
    fails: int | None = None
    shows: Mapping[str, frozenset[str]] = field(default_factory=dict)
    roles: Sequence[str] = ROLES
    by_token: bool = False
    """By an API token, as programs call; else from a browser."""


def sent(**arguments: Any) -> Call:
    """A call with these arguments, whoever makes it."""
    return Call(lambda _: arguments)


def said(**fields: Any) -> Call:
    """A call with a JSON body."""
    return sent(json=fields)


def filled(**fields: Any) -> Call:
    """A call with a form."""
    return sent(data={"sent": "yes", **fields})


def slowly(call: Call) -> Call:
    """A call that hashes a password: few make it."""
    return replace(call, roles=("visitor", "insider"))


def on(name: str, key: str, call: Call | None = None) -> Call:
    """A call whose parameter ``name`` is the planted id ``key``."""
    call = call or Call()
    return replace(call, words=lambda planted: {name: [planted.ids[key]]})


def by_form(**files: bytes) -> Call:
    """A form with a file in it, which carries its proof itself."""

    def body(role: str) -> Mapping[str, Any]:
        return {"data": {"csrf": proof_of(role)}, "files": {"file": ("file.zip", *files.values())}}

    return Call(body)


def proof_of(role: str) -> str:
    """What the forms of a role's browser carry."""
    return csrf_token(f"session-of-{role}") if role in PEOPLE else ""


def with_generator(role: str) -> Mapping[str, Any]:
    """The form that hands in a generator."""
    return {"data": {"csrf": proof_of(role), **LATENT}, "files": {"file": ("a.onnx", b"\x08\x08")}}


def _code() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.py", "pass")
    return file.getvalue()


ENTRY = zipped(noise(5))
LATENT = {"latent": "8", "distribution": "normal"}
CODE = _code()
TUS = {"Tus-Resumable": "1.0.0"}
PIECE = {**TUS, "Content-Type": "application/offset+octet-stream", "Upload-Offset": "0"}
OPEN = {"Upload-Length": "1000", "Upload-Metadata": f"filename {base64.b64encode(b'a.zip').decode()}"}
RESULTS = b"submission_id,fid_public,fid_private,distance_public,distance_private\n1,2,3,0.4,0.5\n"
ACCEPTED = hashlib.sha256(RULES.encode()).hexdigest()
PERSON = {"handle": "newcomer", "name": "New", "email": "newcomer@example.org", "password": "a long new pass phrase"}
WEBHOOK = "https://hooks.example.org/new"
COMPETITION = {"slug": "new", "title": "New", "public": {"extractor": "tiny"}, "private": {"extractor": "tiny"}}
AT_THE_DESK: Mapping[str, frozenset[str]] = {"reviewer": frozenset({"score", "evidence", "recovery", "team", "code"})}
"""What reviewers see of an entry, private scores too; the references they never see."""
READS_CODE = Call(shows={"reviewer": frozenset({"code"})})


def wired(fails: int | None = None, **fields: Any) -> Call:
    """A call of the kaggle client."""
    return replace(said(**fields), by_token=True, fails=fails)


HERE: Mapping[str, Any] = {"competitionName": SLUG}
DESK, PAIRS = "/submissions/{submission_id}/desk", "/api/v1/submissions/{submission_id}/pairs/{kind}"
REVIEWED: Callable[[Planted], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731 - a table's cell
    "submission_id": [planted.ids["scored own"]],
    "number": [1],
    "group": ["near-copies", "cell-1"],
    "side": ["generated", "reference"],
    "rebuttal_id": [100_007],
    "handle": ["eve"],
}
RECOVERED: Callable[[Planted], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731 - likewise
    "submission_id": [planted.ids["scored own"]],
    "group": ["train", "held_out", "generated"],
}


def judged(call: Call, fails: int | None = None) -> Call:
    """A call at the review desk, about the insider's scored entry."""
    return replace(call, words=REVIEWED, shows=AT_THE_DESK, fails=fails)


EVIDENCE = "/api/v1/submissions/{submission_id}/evidence/{kind}"
DATA: Callable[[Planted], Mapping[str, Sequence[Any]]] = lambda _: {"name": [DATA_FILE]}  # noqa: E731 - likewise
WIRE, SERVICE = "/api/v1/competitions.CompetitionApiService", "/api/v1/{service}Service/{method}"

API, TEAM, PAGE = "/api/v1", "/api/v1/competitions/{slug}", "/competitions/{slug}"
FINISHED: Callable[[Planted], Mapping[str, Sequence[Any]]] = lambda planted: {  # noqa: E731 - a table's cell
    "submission_id": [planted.ids["scored own"], planted.ids["scored other"]]
}

RATING: Callable[[Planted], Mapping[str, Sequence[Any]]] = lambda _: {  # noqa: E731 - likewise
    "kind": ["realism", "diversity"],
    "secret": ["rate-link"],
}
RATED = {"kind": "realism", "item": str(FIRST_ITEM), "value": "3"}
STUDY = {"images": 2, "grids": 1, "side": 2}
FILES = f"{TEAM}/releases/{{release_id}}/files"

CALLS: Mapping[str, Call] = {
    f"POST {API}/admin/work/requeue": said(),
    "POST /admin/work/requeue": filled(),
    f"POST {TEAM}/publication/requeue": Call(),
    f"POST {PAGE}/publication": replace(filled(act="publish", reason="Over."), fails=409),
    f"POST {PAGE}/publication/requeue": filled(),
    f"POST {TEAM}/releases": said(),
    f"PUT {TEAM}/releases/{{release_id}}/handed-out": said(shown=True),
    f"GET {FILES}/{{name}}": Call(words=lambda _: {"name": ["tables.zip"]}),
    f"GET {FILES}/images/{{name}}": Call(words=lambda _: {"name": ["s-1.zip"]}),
    f"POST {PAGE}/release": filled(images="none"),
    f"POST {PAGE}/release/{{release_id}}": filled(act="out"),
    f"POST {TEAM}/ratings": said(**STUDY),
    f"POST {TEAM}/ratings/{{study_id}}/raters": said(name="Rita"),
    f"PUT {TEAM}/ratings/{{study_id}}/ended": Call(),
    f"POST {PAGE}/ratings": filled(**STUDY),
    f"POST {PAGE}/ratings/{{study_id}}/raters": filled(name="Rita"),
    f"POST {PAGE}/ratings/{{study_id}}/raters/{{rater_id}}/dismissal": filled(),
    f"POST {PAGE}/ratings/{{study_id}}/end": filled(),
    **{f"GET {where}": Call(words=RATING) for where in ("/ratings/{study_id}", "/rate/{secret}")},
    **{f"HEAD {where}": Call(words=RATING) for where in ("/ratings/{study_id}", "/rate/{secret}")},
    **{f"POST {where}": replace(filled(**RATED), words=RATING) for where in ("/ratings/{study_id}", "/rate/{secret}")},
    **{
        f"{method} {API}/{where}/items{rest}": replace(call, words=RATING)
        for where in ("ratings/{study_id}", "rate/{secret}")
        for method, rest, call in (
            ("GET", "", Call()),
            ("POST", "", said(kind="realism", ratings={FIRST_ITEM: 4}, more=1)),
            ("GET", "/{item_id}/picture", Call()),
        )
    },
    f"PUT {TEAM}/data/{{name}}": Call(lambda _: {"content": b"1,2"}, DATA),
    f"GET {TEAM}/data/{{name}}": Call(words=DATA),
    f"DELETE {TEAM}/data/{{name}}": Call(words=DATA),
    f"POST {WIRE}/ListCompetitions": wired(),
    f"POST {WIRE}/GetLeaderboard": wired(**HERE),
    f"POST {WIRE}/DownloadLeaderboard": wired(**HERE),
    f"POST {WIRE}/GetSubmission": wired(ref=FIRST_REF),
    f"POST {WIRE}/ListSubmissions": wired(**HERE),
    f"POST {WIRE}/GetSubmissionLimits": wired(**HERE),
    f"POST {WIRE}/ListDataFiles": wired(**HERE),
    f"POST {WIRE}/DownloadDataFile": wired(**HERE, fileName=DATA_FILE),
    f"POST {WIRE}/DownloadDataFiles": wired(**HERE),
    f"POST {WIRE}/StartSubmissionUpload": wired(
        **HERE, contentLength=1000, fileName="a.zip", lastModifiedEpochSeconds=1
    ),
    f"POST {WIRE}/CreateSubmission": wired(400, **HERE, blobFileTokens="nothing", submissionDescription="d"),
    "POST /api/v1/security.OAuthService/IntrospectToken": wired(token="token-of-insider"),
    f"POST {SERVICE}": replace(wired(404), words=lambda _: {"service": ["a.B"], "method": ["Any"]}),
    f"PUT {API}/kaggle/uploads/{{upload_id}}/{{secret}}": Call(
        lambda _: {"content": b"PK"},
        lambda planted: {"upload_id": [planted.ids["upload"]], "secret": ["wrong"]},
        fails=404,
    ),
    f"GET {API}/kaggle/files/{{slug}}/{{name}}": Call(words=DATA, by_token=True),
    f"GET {API}/kaggle/bundles/{{slug}}.zip": Call(by_token=True),
    f"POST {API}/accounts": slowly(said(**PERSON)),
    f"POST {API}/admin/accounts": said(handle="newcomer"),
    f"POST {API}/admin/invitations": said(),
    f"PUT {API}/me/password": slowly(said(old=PASSWORD, new="another long pass phrase")),
    f"PUT {API}/me/email": said(email="another@example.org"),
    f"PUT {API}/email-confirmations/{{link}}": Call(words=lambda _: {"link": ["confirm-link"]}),
    f"POST {API}/password-resets": said(email="zq-insider-mail@example.org"),
    f"PUT {API}/password-resets/{{link}}": slowly(said(password="another long pass phrase")),
    f"POST {API}/session": slowly(said(login="ada", password=PASSWORD)),
    f"DELETE {API}/session": Call(),
    f"DELETE {API}/sessions/{{session_id}}": Call(),
    f"POST {API}/tokens": said(name="new"),
    f"DELETE {API}/tokens/{{token_id}}": Call(),
    f"POST {API}/competitions": said(**COMPETITION),
    f"PATCH {TEAM}": said(title="Another"),
    f"PUT {TEAM}/rules-acceptance": said(rules_sha256=ACCEPTED),
    f"PUT {TEAM}/references/{{role}}": Call(lambda _: {"content": ENTRY}, fails=409),
    f"POST {TEAM}/tracks/{{kind}}/preparation": Call(),
    f"POST {TEAM}/imports": Call(lambda _: {"content": RESULTS}, fails=409),
    f"GET {TEAM}/insights/{{figure}}": Call(words=lambda _: {"figure": FIGURES, "format": ["json", "svg"]}),
    f"GET {TEAM}/gallery/{{submission_id}}": Call(words=FINISHED),
    f"POST {TEAM}/publication": Call(lambda _: {"json": {"published": True, "reason": "Over."}}, fails=409),
    f"POST {TEAM}/teams": Call(lambda _: {"json": {"name": "Gamma Kennel"}}),
    f"PATCH {TEAM}/team": said(name="Alpha Two"),
    f"DELETE {TEAM}/team/membership": Call(fails=409),
    f"POST {TEAM}/team/invitations": said(handle="rhea"),
    f"DELETE {TEAM}/team/invitations/{{invitation_id}}": Call(),
    f"PUT {TEAM}/invitations/{{invitation_id}}/answer": on("invitation_id", "invitation received", said(accept=False)),
    f"POST {TEAM}/submissions": sent(content=ENTRY),
    f"POST {API}/submissions/{{submission_id}}/cancel": on("submission_id", "waiting own"),
    f"GET {API}/submissions/{{submission_id}}/events": Call(words=FINISHED),
    f"GET {API}/submissions/{{submission_id}}/code": READS_CODE,
    f"PUT {API}/submissions/{{submission_id}}/code": sent(content=CODE),
    f"PUT {API}/submissions/{{submission_id}}/generator": sent(content=b"\x08\x08", params=LATENT),
    f"GET {API}/submissions/{{submission_id}}/generator": Call(shows=AT_THE_DESK),
    f"GET {API}/submissions/{{submission_id}}/generator/pairs/{{group}}": replace(judged(Call()), words=RECOVERED),
    "POST /submissions/{submission_id}/generator": Call(with_generator),
    f"POST {TEAM}/uploads": sent(headers={**TUS, **OPEN}),
    f"HEAD {API}/uploads/{{upload_id}}": sent(headers=TUS),
    f"OPTIONS {API}/uploads/{{upload_id}}": sent(headers=TUS),
    f"OPTIONS {TEAM}/uploads": sent(headers=TUS),
    f"PATCH {API}/uploads/{{upload_id}}": sent(headers=PIECE, content=b"PK"),
    f"POST {API}/uploads/{{upload_id}}": sent(headers={**PIECE, "X-HTTP-Method-Override": "PATCH"}, content=b"PK"),
    f"DELETE {API}/uploads/{{upload_id}}": sent(headers=TUS),
    f"POST {API}/uploads/{{upload_id}}/complete": Call(fails=409),
    f"PUT {API}/notices/read": said(up_to=1),
    f"PUT {API}/notices/{{notice_id}}/read": Call(),
    f"PATCH {API}/me/mails": said(mailed={"ruling": False}),
    f"POST {API}/webhooks": said(url=WEBHOOK),
    f"DELETE {API}/webhooks/{{webhook_id}}": Call(),
    f"POST {API}/webhooks/{{webhook_id}}/ping": Call(),
    f"PUT {TEAM}/picks": said(submissions=[]),
    f"POST {TEAM}/guests": said(who=["eve", "new-guest@example.org"]),
    f"DELETE {TEAM}/guests/{{who}}": Call(words=lambda _: {"who": ["zq-guest@example.org"]}),
    f"POST {TEAM}/tracks/{{kind}}/thresholds": said(method="manual", tau=0.45, preview=True),
    f"POST {TEAM}/tracks/{{kind}}/thresholds/undo": Call(lambda _: {"json": {"reason": "No."}}, fails=409),
    f"POST {TEAM}/network/comparisons": said(extractors=["efficientnet_lite0"]),
    f"PUT {TEAM}/network": Call(lambda _: {"json": {"extractor": "inception_v3", "reason": "No."}}, fails=409),
    f"PUT {TEAM}/submissions/{{submission_id}}/label": on("submission_id", "scored own", said(label="aug")),
    f"GET {TEAM}/desk": Call(shows=AT_THE_DESK),
    f"GET {API}{DESK}": judged(Call()),
    f"POST {API}/submissions/{{submission_id}}/reviews": judged(said(label="aug"), fails=409),
    f"PUT {API}/submissions/{{submission_id}}/coarse-label": judged(said(label="aug")),
    f"GET {PAIRS}": judged(Call(), fails=404),
    f"GET {PAIRS}/{{number}}/{{side}}": judged(Call(), fails=404),
    f"GET {EVIDENCE}": Call(words=FINISHED, shows=AT_THE_DESK),
    f"GET {EVIDENCE}/{{group}}": judged(Call(), fails=404),
    f"GET {API}/submissions/{{submission_id}}/sprite": Call(shows=AT_THE_DESK),
    f"GET {API}/submissions/{{submission_id}}/rulings": Call(shows=AT_THE_DESK),
    f"POST {API}/submissions/{{submission_id}}/rulings": judged(said(kind="keep", reason="It is fine.")),
    f"POST {API}/submissions/{{submission_id}}/rebuttals": judged(said(text="Please look again."), fails=409),
    f"POST {API}/rebuttals/{{rebuttal_id}}/answer": judged(said(ruling=None, answer="No."), fails=404),
    f"PUT {API}/accounts/{{handle}}/role": judged(said(role="reviewer")),
    f"GET {PAGE}/desk": Call(shows=AT_THE_DESK),
    f"HEAD {PAGE}/desk": Call(shows=AT_THE_DESK),
    f"GET {PAGE}/desk/next": Call(shows=AT_THE_DESK),
    f"HEAD {PAGE}/desk/next": Call(shows=AT_THE_DESK),
    f"GET {DESK}": judged(Call()),
    f"HEAD {DESK}": judged(Call()),
    f"POST {DESK}": judged(filled(label="aug"), fails=409),
    f"POST {DESK}/label": judged(filled(label="aug")),
    f"POST {DESK}/ruling": judged(filled(kind="keep", reason="It is fine.")),
    f"POST {DESK}/rebuttals/{{rebuttal_id}}/answer": judged(filled(ruling="refuse", answer="No."), fails=404),
    "POST /submissions/{submission_id}/rebuttal": judged(filled(text="Please look again."), fails=409),
    f"POST {PAGE}/rules-acceptance": filled(rules_sha256=ACCEPTED),
    "POST /signup": slowly(filled(**PERSON)),
    "POST /signin": slowly(filled(login="ada", password=PASSWORD)),
    "POST /signout": Call(),
    "POST /reset": filled(email="zq-insider-mail@example.org"),
    "POST /reset/{link}": slowly(filled(password="another long pass phrase")),
    "POST /confirm/{link}": replace(filled(), words=lambda _: {"link": ["confirm-link"]}),
    "GET /signin/oidc": Call(fails=503),
    "GET /signin/oidc/return": Call(fails=401),
    "POST /account/tokens": filled(name="new", scope="read"),
    "POST /account/tokens/{token_id}/revoke": Call(),
    "POST /account/sessions/{session_id}/end": Call(),
    "POST /account/password": slowly(filled(old=PASSWORD, new="another long pass phrase")),
    "POST /account/email": filled(email="another@example.org"),
    "POST /notices/read": filled(up_to="1"),
    "POST /account/notices/mails": filled(mailed="ruling"),
    "POST /account/notices/webhooks": filled(url=WEBHOOK),
    "POST /account/notices/webhooks/{webhook_id}/remove": Call(),
    "POST /account/notices/webhooks/{webhook_id}/ping": Call(),
    f"POST {PAGE}/submit": by_form(zip=ENTRY),
    "POST /submissions/{submission_id}/code": by_form(zip=CODE),
    "POST /submissions/{submission_id}/cancel": on("submission_id", "waiting own"),
    f"POST {PAGE}/picks": filled(),
    f"POST {PAGE}/tau": filled(track="private", method="manual", tau="0.3", reason="Because."),
    f"POST {PAGE}/tau/undo": Call(lambda _: {"data": {"track": "public", "reason": "No."}}, fails=409),
    f"POST {PAGE}/network/comparisons": filled(extractor="efficientnet_lite0"),
    f"POST {PAGE}/network": Call(lambda _: {"data": {"extractor": "inception_v3", "reason": "No."}}, fails=409),
    f"POST {PAGE}/team": filled(name="Gamma Kennel"),
    f"POST {PAGE}/team/name": filled(name="Alpha Two"),
    f"POST {PAGE}/team/invitations": filled(handle="rhea"),
    f"POST {PAGE}/team/merges": filled(team="Beta Kennel"),
    f"POST {PAGE}/team/invitations/{{invitation_id}}/withdrawal": Call(),
    f"POST {PAGE}/team/invitations/{{invitation_id}}/answer": on(
        "invitation_id", "invitation received", filled(accept="no")
    ),
    f"POST {PAGE}/team/leaving": Call(fails=409),
}
