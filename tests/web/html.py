"""Parses HTML into a tree, because tests search for elements instead of strings."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"link", "meta", "input", "br", "hr", "img"}


@dataclass
class Element:
    """An element with its attributes and content."""

    tag: str
    attributes: dict[str, str]
    children: list["Element | str"] = field(default_factory=list)

    def __iter__(self) -> Iterator["Element"]:
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child

    @property
    def text(self) -> str:
        """All the text inside, with single spaces."""
        pieces = (child if isinstance(child, str) else child.text for child in self.children)
        return " ".join("".join(pieces).split())

    def all(self, tag: str = "", **attributes: str) -> list["Element"]:
        """Every element with this tag and these attributes. ``class_`` is one of its classes."""
        return [element for element in self if tag in {"", element.tag} and _has(element, attributes)]

    def one(self, tag: str = "", **attributes: str) -> "Element":
        """The only such element."""
        (element,) = self.all(tag, **attributes)
        return element


def _has(element: Element, wanted: dict[str, str]) -> bool:
    attributes = element.attributes
    return all(
        value in attributes.get("class", "").split()
        if name == "class_"
        else attributes.get(name.replace("_", "-")) == value
        for name, value in wanted.items()
    )


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].children.append(Element(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse_html(html: str) -> Element:
    """A document as a tree. Fails if tags are not closed in order."""
    builder = _Builder()
    builder.feed(html)
    builder.close()
    assert len(builder.open) == 1, f"<{builder.open[-1].tag}> is never closed"
    return builder.root
