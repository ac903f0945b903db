"""A way by which a hostile page tries to leave its replay."""

from dataclasses import dataclass, field

HTML, XHTML, SVG, XML = "text/html", "application/xhtml+xml", "image/svg+xml", "application/xml"


@dataclass(frozen=True)
class Way:
    """A document of its own, with header fields and with further files in its folder.

    In its texts, `@URL@` is a URL at an address that only this way uses, `@HOST@` the address, `@NAME@` a host name
    that only this way uses, and `@API@` the address of the Larder server.
    `status` is that of the document. `is_shown` is false for a document that a browser does not show.
    """

    name: str
    text: str
    type: str = HTML
    fields: tuple = ()
    files: dict = field(default_factory=dict)
    status: int = 200
    encoding: str = "utf-8"
    is_shown: bool = True


def table(prefix, texts, **options):
    return [Way(f"{prefix}-{name}", text, **options) for name, text in texts.items()]
