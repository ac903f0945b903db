"""Archives that no careful program writes."""

import base64
import gzip
import hashlib
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


def sha1(data):
    """Returns the value of a digest field as most programs write it."""
    return f"sha1:{base64.b32encode(hashlib.sha1(data).digest()).decode()}"


def digested(url, body, digest, fields=None):
    """Returns a response record with a digest of its body."""
    return record("response", url, message(body, fields), {"WARC-Payload-Digest": digest})


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

    def zip(self, count, overlap=False):
        """Returns a ZIP file with `count` files. With `overlap`, all of them have the same place."""
        numbers = (self.checksum(), len(self.data), self.size)
        files, directory = b"", b""
        for number in range(count):
            name = f"archive/{number}.warc".encode()
            place = 0 if overlap else len(files)
            if place == len(files):
                files += struct.pack("<IHHHHHIIIHH", 0x04034B50, 20, 0, 8, 0, 0, *numbers, len(name), 0) + name
                files += self.data
            directory += struct.pack(
                "<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 8, 0, 0, *numbers, len(name), 0, 0, 0, 0, 0, place) + name
        end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(directory), len(files), 0)
        return files + directory + end


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
    "files of a ZIP file that overlap": (Bomb(1).zip(2, overlap=True), "the files of the ZIP file overlap"),
    "a page with the digest of another body": (
        record("response", PAGE, message(HTML, type="text/html"), {"WARC-Payload-Digest": sha1(b"other")}),
        "the digest of the record does not fit its body"),
}
# Records that are no responses to URLs of pages, with the member of the page that counts them.
LEFT_OUT = {
    "a file": (response("file:///etc/passwd", b"x"), "otherUrl"),
    "a file in brackets": (response("<file:///etc/passwd>", b"x"), "otherUrl"),
    "a name": (response("dns:page.example", b"x"), "otherUrl"),
    "a data URL": (response("data:text/plain,x", b"x"), "otherUrl"),
    "credentials in the URL": (response("http://name:password@page.example/x", b"x"), "otherUrl"),
    "a port beyond the last": (response("http://page.example:99999/x", b"x"), "otherUrl"),
    "a resource": (record("resource", OTHER, b"x", {"Content-Type": "image/png"}), "noResponse"),
    "metadata": (record("metadata", OTHER, b"x"), None),
    "a conversion": (record("conversion", OTHER, b"x"), "noResponse"),
    "a continuation": (record("continuation", OTHER, b"x"), "noResponse"),
    "an unknown record": (record("nonsense", OTHER, message(b"x")), "noResponse"),
    "a response of another protocol": (
        record("response", OTHER, b"x", {"Content-Type": "application/gopher"}), "noResponse"),
    "a request": (record("request", OTHER, b"GET /other.png HTTP/1.1\r\n\r\n"), None),
    "another response to the same URL": (response(IMAGE, b"other"), "repeated"),
    "a damaged response to the same URL": (response(IMAGE, b"abc", {"Content-Length": "9"}), "repeated"),
}
HEADLESS = "does not begin with a status line"
TOO_LONG = "its body is longer than the limit"
NO_FIT = "the digest of the record does not fit its body"
NO_ORIGINAL = "the archive lacks the record whose body it repeats"
# Responses that the page lacks, with a part of the reason.
LACKED = {
    "a response of HTTP 0.9": (record("response", OTHER, b"hello"), "no whole head"),
    "an empty response": (record("response", OTHER, b""), "no whole head"),
    "a status of two digits": (response(OTHER, b"x", status="20 OK"), HEADLESS),
    "a status with a sign": (response(OTHER, b"x", status="+20 OK"), HEADLESS),
    "100 Continue": (response(OTHER, b"", status="100 Continue"), "interim"),
    "101 Switching Protocols": (response(OTHER, b"", status="101 Switching Protocols"), "interim"),
    "103 Early Hints": (response(OTHER, b"", status="103 Early Hints"), "interim"),
    "a head without an end": (record("response", OTHER, b"HTTP/1.1 200 OK\r\nName: x"), "no whole head"),
    "a long head": (response(OTHER, b"x", {"Name": "x" * 300_000}), "too long"),
    "a cut body": (response(OTHER, b"abc", {"Content-Length": "9"}), "shorter than its Content-Length"),
    "a cut chunk": (response(OTHER, b"9\r\nabc", {"Transfer-Encoding": "chunked"}), "chunked body"),
    "chunks without an end": (response(OTHER, b"3\r\nabc\r\n", {"Transfer-Encoding": "chunked"}), "chunked body"),
    "a chunk without a length": (response(OTHER, b"xyz\r\nabc\r\n0\r\n\r\n", {"Transfer-Encoding": "chunked"}), "chunk"),
    "a chunk that is too long": (response(OTHER, b"f" * 16 + b"\r\nabc", {"Transfer-Encoding": "chunked"}), "chunk"),
    "damaged gzip": (response(OTHER, b"abc", {"Content-Encoding": "gzip"}), "its body is damaged"),
    "cut gzip": (response(OTHER, gzip.compress(b"abc" * 99)[:-9], {"Content-Encoding": "gzip"}), "ends before its gzip"),
    "an unknown coding": (response(OTHER, b"abc", {"Content-Encoding": "compress"}), "compress"),
    "a body beyond the limit": (response(OTHER, bytes(51 << 20)), TOO_LONG),
    "a bomb": (response(OTHER, gzip.compress(bytes(51 << 20)), {"Content-Encoding": "gzip"}), TOO_LONG),
    "a bomb in a bomb": (response(
        OTHER, gzip.compress(gzip.compress(bytes(51 << 20))), {"Content-Encoding": "gzip, gzip"}), "times as long"),
    "a digest of another body": (digested(OTHER, b"abc", sha1(b"abd")), NO_FIT),
    "a hexadecimal digest of another body": (
        digested(OTHER, b"abc", f"sha256:{hashlib.sha256(b'abd').hexdigest()}"), NO_FIT),
    "a digest that is too short": (digested(OTHER, b"abc", "sha1:ABC"), NO_FIT),
    "a digest of another body of a redirect": (
        record("response", OTHER, message(b"", {"Location": IMAGE}, status="302 Found"),
               {"WARC-Payload-Digest": sha1(b"x")}), NO_FIT),
    "a revisit without an original": (revisit(OTHER, WARC_Payload_Digest=sha1(b"")), NO_ORIGINAL),
    "a revisit of a missing URL": (
        revisit(OTHER, WARC_Refers_To_Target_URI="http://page.example/missing"), NO_ORIGINAL),
    "a revisit of itself": (revisit(OTHER, WARC_Refers_To_Target_URI=OTHER), NO_ORIGINAL),
    "a revisit of a redirect": (
        response(IMAGE + "?to", b"", {"Location": IMAGE}, status="302 Found")
        + revisit(OTHER, WARC_Refers_To_Target_URI=IMAGE + "?to"), NO_ORIGINAL),
    "a revisit with the digest of another body": (
        revisit(OTHER, WARC_Refers_To_Target_URI=IMAGE, WARC_Payload_Digest=sha1(b"other")), "does not fit the body"),
    # The record claims the digest of a body that the archive does not have.
    "a revisit of a false digest": (
        digested(OTHER + "?false", b"false", sha1(b"abc")) + revisit(OTHER, WARC_Payload_Digest=sha1(b"abc")),
        NO_ORIGINAL),
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
        digested("http://page.example/a", b"abc", sha1(b"abc"))
        + revisit(OTHER, WARC_Payload_Digest=sha1(b"abc")), (200, b"abc")),
    "a revisit of a digest that the original does not name": (
        revisit(OTHER, WARC_Payload_Digest=f"sha256:{hashlib.sha256(b'image').hexdigest()}"), (200, b"image")),
    "a revisit of a body that a better response replaced": (
        response("http://page.example/a", b"abc", status="404 None") + response("http://page.example/a", b"later")
        + revisit(OTHER, WARC_Payload_Digest=sha1(b"abc")), (200, b"abc")),
    "a revisit without a change": (
        record("revisit", OTHER, b"HTTP/1.1 304 Not Modified\r\n\r\n", {"WARC-Refers-To-Target-URI": IMAGE}),
        (200, b"image")),
    "a revisit without a head": (
        record("revisit", OTHER, b"", {"WARC-Refers-To-Target-URI": IMAGE}), (200, b"image")),
    "a revisit that is a redirect": (
        record("revisit", OTHER, message(b"", {"Location": OTHER}, status="302 Found")), (302, b"")),
    "a digest in base32": (digested(OTHER, b"abc", sha1(b"abc")), (200, b"abc")),
    "a digest in small letters": (digested(OTHER, b"abc", sha1(b"abc").lower()), (200, b"abc")),
    "a digest in hexadecimal": (
        digested(OTHER, b"abc", f"sha1:{hashlib.sha1(b'abc').hexdigest().upper()}"), (200, b"abc")),
    "a digest with padding": (digested(
        OTHER, b"abc", f"sha256:{base64.b32encode(hashlib.sha256(b'abc').digest()).decode()}"), (200, b"abc")),
    "a digest of another algorithm": (digested(OTHER, b"abc", "md5:00"), (200, b"abc")),
    "a digest of chunks": (digested(
        OTHER, b"3\r\nabc\r\n0\r\n\r\n", sha1(b"3\r\nabc\r\n0\r\n\r\n"),
        {"Transfer-Encoding": "chunked"}), (200, b"abc")),
    "a digest without chunks": (digested(
        OTHER, b"3\r\nabc\r\n0\r\n\r\n", sha1(b"abc"), {"Transfer-Encoding": "chunked"}), (200, b"abc")),
    "a digest of a coded body": (digested(
        OTHER, COMPRESSED, sha1(COMPRESSED), {"Content-Encoding": "gzip"}), (200, GOOD)),
    "a digest of a decoded body": (digested(
        OTHER, COMPRESSED, sha1(GOOD), {"Content-Encoding": "gzip"}), (200, GOOD)),
    "a whole response behind a damaged one": (
        response(OTHER, b"abc", {"Content-Length": "9"}) + response(OTHER, b"abc"), (200, b"abc")),
    "a redirect to itself": (response(OTHER, b"", {"Location": OTHER}, status="302 Found"), (302, b"")),
    "a status beyond the last": (response(OTHER, b"abc", status="999 Odd"), (999, b"abc")),
    "an early date": (response(OTHER, b"abc").replace(DATE.encode(), b"0000-01-01T00:00:00Z"), (200, b"abc")),
    "a late date": (response(OTHER, b"abc").replace(DATE.encode(), b"9999-12-31T23:59:59Z"), (200, b"abc")),
    "no date": (response(OTHER, b"abc").replace(DATE.encode(), b"never"), (200, b"abc")),
    "a line end in a field": (response(OTHER, b"abc", {"Name": "a\rSet-Cookie: b=c"}), (200, b"abc")),
}
