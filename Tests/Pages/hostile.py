"""Archives that no careful program writes."""

import gzip
import struct
import zipfile
import zlib
from io import BytesIO

PAGE = "http://page.example/"
IMAGE = "http://page.example/image.png"
OTHER = "http://page.example/other.png"
HTML = b"<title>Page</title><img src=image.png>"
DATE = "2026-01-31T08:00:00Z"
# Bytes of each repeated part of a bomb. Two of them compressed fit into the window of deflate.
PART = 8 << 20


def record(kind, url, block, fields=None, length=None):
    """Returns a record of a WARC file. `length` is its Content-Length, which may be wrong."""
    head = {
        "WARC-Type": kind, "WARC-Target-URI": url, "WARC-Date": DATE,
        "Content-Type": "application/http;msgtype=response", **(fields or {}),
        "Content-Length": len(block) if length is None else length,
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n"


def message(body, fields=None, status="200 OK", type="image/png"):
    """Returns an HTTP response."""
    lines = "".join(f"{name}: {value}\r\n" for name, value in {"Content-Type": type, **(fields or {})}.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode() + body


def response(url, body, fields=None, **more):
    return record("response", url, message(body, fields, **more))


# A page with its image, in which no record is hostile.
GOOD = response(PAGE, HTML, type="text/html") + response(IMAGE, b"image")


def revisit(url, **fields):
    """Returns a revisit record. The names of `fields` have low lines instead of hyphens."""
    return record("revisit", url, message(b""), {
        "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
        **{name.replace("_", "-"): value for name, value in fields.items()}})


def zip_of(files):
    """Returns a ZIP file, with names as they are."""
    output = BytesIO()
    with zipfile.ZipFile(output, "w") as file:
        for name, data in files.items():
            file.writestr(name, data)
    return output.getvalue()


class Bomb:
    """A WARC file with one response, with a body of many parts of zeros. `data` is the file in the form of deflate."""

    def __init__(self, parts):
        self.parts = parts
        head = message(b"", type="text/html")
        self._start = record("response", PAGE, head, length=len(head) + parts * PART)[:-4]
        self.size = len(self._start) + parts * PART + 4
        self.data = self._deflated(self._start) + self._deflated(bytes(PART)) * parts
        self.data += zlib.compress(b"\r\n\r\n", wbits=-15)

    @staticmethod
    def _deflated(data):
        """Returns deflate data that can be followed by others, because they do not end."""
        coder = zlib.compressobj(9, wbits=-15)
        return coder.compress(data) + coder.flush(zlib.Z_FULL_FLUSH)

    def checksum(self):
        checksum, zeros = zlib.crc32(self._start), bytes(PART)
        for _ in range(self.parts):
            checksum = zlib.crc32(zeros, checksum)
        return zlib.crc32(b"\r\n\r\n", checksum)

    def gzip(self):
        """Returns a gzip file. Its checksum is wrong, but a reader that obeys a limit never comes to it."""
        return b"\x1f\x8b\x08\0\0\0\0\0\0\x03" + self.data + bytes(8)

    def nested(self):
        """Returns a ZIP file with the gzip file, compressed once more."""
        output = BytesIO()
        with zipfile.ZipFile(output, "w", zipfile.ZIP_DEFLATED) as file:
            file.writestr("archive/data.warc.gz", self.gzip())
        return output.getvalue()

    def overlapping(self, count):
        """Returns a ZIP file with `count` files in its directory, all with the same data."""
        name = b"archive/0.warc"
        numbers = (self.checksum(), len(self.data), self.size)
        local = struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, *numbers, len(name), 0) + name
        directory = b""
        for number in range(count):
            name = f"archive/{number}.warc".encode()
            directory += struct.pack(
                "<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, *numbers, len(name), 0, 0, 0, 0, 0, 0) + name
        end = struct.pack(
            "<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(local) + len(self.data), 0)
        return local + self.data + directory + end


COMPRESSED = gzip.compress(GOOD)
# Archives that are refused, with a part of the reason.
REFUSED = {
    "empty": (b"", "ends within a record"),
    "a byte": (b"W", "ends within a record"),
    "a text": (b"hello\r\n\r\nhello\r\n\r\n", "does not begin with WARC/1.0"),
    "a document": (HTML * 20_000, "the head of a record is too long"),
    "an old version": (GOOD.replace(b"WARC/1.1", b"WARC/0.9"), "does not begin with WARC/1.0"),
    "gzip of nothing": (gzip.compress(b""), "has no page"),
    "gzip without its head": (COMPRESSED[:5], "ends within a record"),
    "gzip without its checksum": (COMPRESSED[:-8], "ends within a record"),
    "gzip without its last byte": (COMPRESSED[:-1], "ends within a record"),
    "half of gzip": (COMPRESSED[:len(COMPRESSED) // 2], "ends within a record"),
    "damaged gzip": (COMPRESSED[:60] + b"\xff\xff" + COMPRESSED[62:], "damaged"),
    "gzip with a tail": (COMPRESSED + b"tail of the file", "damaged"),
    "a record that is too short for its length": (GOOD + record("response", OTHER, b"", length=500), "ends within"),
    "a record that is too long for its length": (
        record("response", OTHER, b"x" * 99, length=5) + GOOD, "does not begin"),
    "a negative length": (GOOD + record("response", OTHER, b"x", length=-1), "no valid Content-Length"),
    "the longest length": (GOOD + record("response", OTHER, b"x", length=2**63 - 1), "ends within a record"),
    "a length beyond 64 bits": (GOOD + record("response", OTHER, b"x", length=2**64 + 1), "no valid Content-Length"),
    "a length in words": (GOOD + record("response", OTHER, b"x", length="one"), "no valid Content-Length"),
    "a record without an end of its head": (GOOD + b"WARC/1.1\r\nName: " + b"x" * 70_000, "too long"),
    "a ZIP file without a directory": (b"PK\3\4" + bytes(100), "no ZIP directory"),
    "a cut ZIP file": (zip_of({"archive/data.warc": GOOD})[:-30], "no ZIP directory"),
    "a ZIP file without an archive": (zip_of({"../../x": GOOD, "/etc/x": GOOD}), "no file archive/"),
    "a ZIP file with another checksum": (
        zip_of({"archive/data.warc": GOOD}).replace(b"<title>Page", b"<title>Pane"), "differ from its checksum"),
    "a page that is a file": (
        zip_of({"archive/a.warc": GOOD, "pages/pages.jsonl": '{"url": "file:///etc/passwd"}'}), "has no page"),
    "a page that is missing": (
        zip_of({"archive/a.warc": GOOD, "pages/pages.jsonl": '{"url": "http://h.example/"}'}), "has no response for"),
    "a long list of pages": (zip_of({"archive/a.warc": GOOD, "pages/pages.jsonl": " " * (5 << 20)}), "larger than"),
}
# Archives with a page, its image and a record that is left out.
LEFT_OUT = {
    "a file": response("file:///etc/passwd", b"x"),
    "a file in brackets": response("<file:///etc/passwd>", b"x"),
    "a name": response("dns:page.example", b"x"),
    "a data URL": response("data:text/plain,x", b"x"),
    "credentials in the URL": response("http://name:password@page.example/x", b"x"),
    "a port beyond the last": response("http://page.example:99999/x", b"x"),
    "a resource": record("resource", OTHER, b"x", {"Content-Type": "image/png"}),
    "metadata": record("metadata", OTHER, b"x"),
    "a conversion": record("conversion", OTHER, b"x"),
    "a continuation": record("continuation", OTHER, b"x"),
    "an unknown record": record("nonsense", OTHER, message(b"x")),
    "a request": record("request", OTHER, b"GET /other.png HTTP/1.1\r\n\r\n"),
    "a response of HTTP 0.9": record("response", OTHER, b"hello"),
    "a status of two digits": response(OTHER, b"x", status="20 OK"),
    "a status with a sign": response(OTHER, b"x", status="+20 OK"),
    "a head without an end": record("response", OTHER, b"HTTP/1.1 200 OK\r\nName: x"),
    "a long head": response(OTHER, b"x", {"Name": "x" * 300_000}),
    "a cut body": response(OTHER, b"abc", {"Content-Length": "9"}),
    "a cut chunk": response(OTHER, b"9\r\nabc", {"Transfer-Encoding": "chunked"}),
    "chunks without an end": response(OTHER, b"3\r\nabc\r\n", {"Transfer-Encoding": "chunked"}),
    "a chunk without a length": response(OTHER, b"xyz\r\nabc\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}),
    "a chunk that is too long": response(OTHER, b"f" * 16 + b"\r\nabc", {"Transfer-Encoding": "chunked"}),
    "damaged gzip": response(OTHER, b"abc", {"Content-Encoding": "gzip"}),
    "cut gzip": response(OTHER, gzip.compress(b"abc" * 99)[:-9], {"Content-Encoding": "gzip"}),
    "an unknown coding": response(OTHER, b"abc", {"Content-Encoding": "compress"}),
    "a body beyond the limit": response(OTHER, bytes(51 << 20)),
    "a bomb": response(OTHER, gzip.compress(bytes(51 << 20)), {"Content-Encoding": "gzip"}),
    "a bomb in a bomb": response(
        OTHER, gzip.compress(gzip.compress(bytes(51 << 20))), {"Content-Encoding": "gzip, gzip"}),
    "a revisit without an original": revisit(OTHER, WARC_Payload_Digest="sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"),
    "a revisit of a missing URL": revisit(OTHER, WARC_Refers_To_Target_URI="http://page.example/missing"),
    "a revisit of itself": revisit(OTHER, WARC_Refers_To_Target_URI=OTHER),
    "another response to the same URL": response(IMAGE, b"other"),
}
# Archives with a page, its image, and a record that is unusual, and the status and body that a replay shows for it.
TAKEN = {
    "brackets": (response(f"<{OTHER}>", b"abc"), (200, b"abc")),
    "chunks": (response(OTHER, b"3\r\nabc\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}), (200, b"abc")),
    "chunks of gzip": (response(
        OTHER, b"%x\r\n%s\r\n0\r\n\r\n" % (len(gzip.compress(b"abc")), gzip.compress(b"abc")),
        {"Transfer-Encoding": "chunked", "Content-Encoding": "gzip"}), (200, b"abc")),
    "bytes behind the body": (response(OTHER, b"abcdef", {"Content-Length": "3"}), (200, b"abc")),
    "a revisit of a URL": (revisit(OTHER, WARC_Refers_To_Target_URI=IMAGE), (200, b"image")),
    "a revisit of a digest": (
        record("response", "http://page.example/a", message(b"abc"), {"WARC-Payload-Digest": "sha1:ABC"})
        + revisit(OTHER, WARC_Payload_Digest="sha1:ABC"), (200, b"abc")),
    "a redirect to itself": (response(OTHER, b"", {"Location": OTHER}, status="302 Found"), (302, b"")),
    "a status beyond the last": (response(OTHER, b"abc", status="999 Odd"), (999, b"abc")),
    "an early date": (response(OTHER, b"abc").replace(DATE.encode(), b"0000-01-01T00:00:00Z"), (200, b"abc")),
    "a late date": (response(OTHER, b"abc").replace(DATE.encode(), b"9999-12-31T23:59:59Z"), (200, b"abc")),
    "no date": (response(OTHER, b"abc").replace(DATE.encode(), b"never"), (200, b"abc")),
    "a line end in a field": (response(OTHER, b"abc", {"Name": "a\rSet-Cookie: b=c"}), (200, b"abc")),
}
