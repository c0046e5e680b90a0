"""Descriptions become Markdown of generated pages: code and links stay, everything else is escaped."""

import pytest

from deploy.documentation.markdown import text


@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("As [S3](#s3) says.", "As [S3](#s3) says."),
        ("[Standard Webhooks](https://www.standardwebhooks.com) are.", None),
        ("See [the `a|b` of it](a_b.md) or ``c|d``.", r"See [the `a\|b` of it](a_b.md) or `c\|d`."),
        ("[-1, 1] or ([0, 1]) (both)", r"\[-1, 1\] or (\[0, 1\]) (both)"),
        ("pip install '.[traces]' [S3](#s3)", r"pip install '.\[traces\]' [S3](#s3)"),
        ("a[0] (b) *c* <d> {e}|f", r"a\[0\] (b) \*c\* \<d\> \{e\}\|f"),
        ("`[not](a-link)`", "`[not](a-link)`"),
    ],
)
def test_code_and_links_stay_and_everything_else_is_escaped(description: str, expected: str | None) -> None:
    assert text(description) == (expected or description)
