"""The ways by which a hostile page tries to leave its replay."""

from ways.documents import DOCUMENTS
from ways.hints import FIELDS, HINTS, REDIRECTS, REFRESHES
from ways.links import FORMS, LINKS
from ways.resources import RESOURCES, STYLES
from ways.scripts import SCRIPTS, TOPS

__all__ = ["DOCUMENTS", "FIELDS", "FORMS", "HINTS", "LINKS", "REDIRECTS", "REFRESHES", "TOPS", "WAYS"]

WAYS = SCRIPTS + TOPS + HINTS + REFRESHES + FIELDS + REDIRECTS + RESOURCES + STYLES + LINKS + FORMS + DOCUMENTS
assert len({way.name for way in WAYS}) == len(WAYS)
