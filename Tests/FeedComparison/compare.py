"""Compares Larder's feed parser with feedparser: compare.py REPORT FOLDER [--all]

REPORT is the executable FeedReport. FOLDER contains the feeds of feedparser's source distribution. Each feed is parsed by
both parsers, with the header fields that the feed's own comment states. The title of the feed must be equal, and for each
entry id, link, title and dates. Larder may refuse a feed with words, and may differ as `deviations` says. Exits with 1 for any other difference, and
if fewer than `LEAST` feeds are equal, because refusals must not grow unnoticed. `--all` prints each feed that is not equal.
"""

import calendar
import collections
import json
import re
import subprocess
import sys
import warnings
from html.parser import HTMLParser
from pathlib import Path

import deviations
import feedparser

# The number of equal feeds with the version in requirements.txt.
LEAST = 2191
HIDDEN = {"script", "style", "applet"}


class PlainText(HTMLParser):
    """The text of a piece of HTML, as `MarkupText.plain` reads it."""

    def __init__(self, markup):
        super().__init__(convert_charrefs=True)
        self.parts, self.hidden = [], 0
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in HIDDEN

    def handle_endtag(self, tag):
        self.hidden -= tag in HIDDEN and self.hidden > 0

    def handle_data(self, data):
        if not self.hidden:
            self.parts.append(data)


def plain(detail, title):
    """The title of an entry as plain text, with single spaces."""
    if (detail or {}).get("type") in ("text/html", "application/xhtml+xml"):
        title = "".join(PlainText(title).parts)
    return re.sub(r"[ \t\n\v\f\r]+", " ", title).strip(" ") or None


def headers(data):
    """The header fields that a feed's comment states for its test."""
    text = data.decode("utf-8", "replace")
    if text.startswith("\ufeff") or "\0" in text:
        text = text.replace("\0", "").lstrip("\ufeff")
    fields = re.findall(r"^Header:\s+([^:\s]+):\s*(.*?)\s*$", text, re.MULTILINE)
    return {"content-type": "application/xml", **{name.lower(): value for name, value in fields}}


def seconds(date):
    return calendar.timegm(date) if date else None


def expected(data, fields):
    result = feedparser.parse(data, response_headers=fields)
    entries = []
    for entry in result.entries:
        published = dict.get(entry, "published_parsed") or dict.get(entry, "created_parsed")
        entries.append(
            {
                "id": dict.get(entry, "id") or None,
                "link": dict.get(entry, "link") or None,
                "title": plain(dict.get(entry, "title_detail"), dict.get(entry, "title") or ""),
                "published": seconds(published),
                "updated": seconds(dict.get(entry, "updated_parsed")),
            }
        )
    title = plain(dict.get(result.feed, "title_detail"), dict.get(result.feed, "title") or "")
    return {"title": title, "items": entries}


def requests(folder):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".xml", ".json") and path.is_file():
            data = path.read_bytes()
            yield path, data, headers(data)


def main():
    warnings.simplefilter("ignore")
    report, folder, all_ = sys.argv[1], Path(sys.argv[2]), "--all" in sys.argv[3:]
    feeds = list(requests(folder))
    lines = [
        json.dumps({"path": str(path), "contentType": fields["content-type"], "url": fields.get("content-location")})
        for path, _, fields in feeds
    ]
    output = subprocess.run([report], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True).stdout
    answers = [json.loads(line) for line in output.splitlines()]
    assert len(answers) == len(feeds), "FeedReport answers each line"

    equal, filled, refused, deviating, wrong = 0, 0, collections.Counter(), collections.Counter(), []
    for (path, data, fields), answer in zip(feeds, answers):
        name = str(path.relative_to(folder))
        wanted = expected(data, fields)
        found = {key: answer.get(key) for key in wanted}
        if "refused" in answer:
            refused[re.sub(r'"[^"]*"|\d+', "…", answer["refused"])] += 1
            if all_:
                print(f"refused: {name}: {answer['refused']} ({len(wanted['items'])} entries)")
        elif wanted == found:
            equal += 1
            filled += bool(wanted["items"])
        elif reason := deviations.reason(name, wanted, found):
            deviating[reason] += 1
            if all_:
                print(f"deviating: {name}: {reason}")
        else:
            wrong.append((name, wanted, found))

    for name, wanted, found in wrong:
        print(f"different: {name}\n  feedparser: {json.dumps(wanted)}\n  Larder:     {json.dumps(found)}")
    print(
        f"{len(feeds)} feeds: {equal} equal, {filled} of them with entries; {refused.total()} refused, "
        f"{deviating.total()} deviating, {len(wrong)} wrong"
    )
    for kind, counts in (("refused", refused), ("deviating", deviating)):
        for reason, count in counts.most_common():
            print(f"  {count} {kind}: {reason}")
    if equal < LEAST:
        print(f"only {equal} feeds are equal, but {LEAST} must be")
    return 1 if wrong or equal < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
