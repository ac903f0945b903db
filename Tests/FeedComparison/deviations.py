"""The intended differences between Larder's feed parser and feedparser, each with its reason."""

import re

# Labels of encodings that only one of both parsers knows, or that have different meanings in Python and in iconv.
LABELS = """
    cp_is csibm861 csmacintosh mac maccentraleurope macgreek maciceland maclatin2 macroman macturkish ms-cyrl tcvn-5712
    tcvn tcvn5712-1 viscii
"""

# Single feeds, by the end of their path.
FEEDS = {
    "chardet/shiftjis.xml": "an encoding that no field and no declaration names is not guessed from the text",
    "rss/item_category_image.xml": "the title of a picture is not the title of its item",
    "rss/item_guid_isPermaLink_ValueError.xml": "an id stays as written, also if Python's urllib cannot read it",
    "sanitize/entry_title_crazy.xml": "the text of a script is not a part of the title",
    "sanitize/feed_title_crazy.xml": "the text of a script is not a part of the title",
    "sanitize/xml_declaration_unexpected_character.xml": "a declaration without an end is not a part of the title",
    "sanitize/xml_malicious_comment.xml": "a comment without an end hides the rest of the title, as in browsers",
    **{f"encoding/x80_{label}.xml": "the label of the encoding has another meaning" for label in LABELS.split()},
}


def without_id_links(feed):
    """The feed without links that are no web addresses. feedparser takes any id of Atom as the link of its entry."""
    return {
        **feed,
        "items": [
            {**entry, "link": entry["link"] if re.match("(https?|ftp)://", entry["link"] or "") else None}
            for entry in feed["items"]
        ],
    }


def reason(name, wanted, found):
    """The reason for which a feed may differ; None if it must be equal."""
    for end, words in FEEDS.items():
        if name.endswith(end):
            return words
    if without_id_links(wanted) == found:
        return "an id that is no web address is not the link of its entry"
    return None
