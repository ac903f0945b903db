"""Facts that openapi.yaml cannot express and Schemathesis must know. scripts/check-api loads this module.

Each hook says why it is needed. No hook turns a generated mistake into a valid request.
"""

import json
import os
import re
from urllib.parse import quote

import schemathesis
from hypothesis import strategies as st

ORIGIN = os.environ["CHECK_ORIGIN"]

# URLs lead to the script's own origin, because the server may ask no other origin.
PATHS = ["/json", "/fresh/a", "/fresh/b", "/vary", "/text", "/bytes", "/moved", "/status/410", "/", "", "//x/../y"]
ENDINGS = ["", "", "?a=b", "?a=%C3%A9&b", "?", "#top"]
schemathesis.openapi.format(
    "iri",
    st.tuples(st.sampled_from(PATHS), st.sampled_from(ENDINGS)).map(lambda parts: ORIGIN + parts[0] + parts[1]),
)

# A pattern cannot express all forms of addresses, ranges and hosts.
RULES = ["192.0.2.1", "192.0.2.0/24", "[2001:db8::1]:8080", "files.internal", "*.example.com:443", "*"]
schemathesis.openapi.format("origin-rule", st.sampled_from(RULES))

# A text of JSON in a query parameter. The schema of its content is only an annotation.
VALUES = st.one_of(st.text(max_size=5), st.integers(-1000, 1000), st.booleans())
schemathesis.openapi.format(
    "params-text",
    st.dictionaries(st.text("abcä ", max_size=5), st.one_of(VALUES, st.lists(VALUES, max_size=3)), max_size=5).map(json.dumps),
)

# Prefixes and hosts of filters, in any spelling.
PREFIXES = ["a", "note", "x:y", "HTTP://Example.com:80/a/../b", ORIGIN, ORIGIN + "/m%c3%bc", "https://b\u00fccher.example/?q=1"]
HOSTS = ["127.0.0.1", "::1", "[0:0::1]", "b\u00fccher.example", "EXAMPLE.com.", "127.1"]
schemathesis.openapi.format("entry-prefix", st.sampled_from(PREFIXES))
schemathesis.openapi.format("host", st.sampled_from(HOSTS))

# The media type that stands for "*/*" below.
schemathesis.openapi.media_type("application/octet-stream", st.binary(min_size=1, max_size=2000))


@schemathesis.serializer("application/x-ndjson", "application/jsonl")
def serialize_line(ctx, value):
    """Serialises a batch of one item, because the schema describes a line."""
    return value if isinstance(value, bytes) else json.dumps(value).encode() + b"\n"


@schemathesis.deserializer("application/x-ndjson")
def deserialize_lines(ctx, response):
    """Returns the first line in place of all lines. An empty batch has no line, so a valid line stands for it."""
    lines = response.content.splitlines()
    for line in lines:
        json.loads(line)
    return json.loads(lines[0]) if lines else {"index": 0, "error": {"type": "", "title": "-", "status": 400, "detail": "-"}}


@schemathesis.deserializer("text/html", "text/javascript", "text/css")
def deserialize_text(ctx, response):
    """Returns the text, because the document describes only the text."""
    return response.content.decode()


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Fits the document to Schemathesis, and leads the examples to the script's own origin.

    OpenAPI has no path parameter for the rest of the target. The paths below /fetch/ therefore contain the origin's
    root, and only a name below the root is generated. A body of any type is sent as bytes. The schema of the YAML
    describes the text, but Schemathesis applies it to the parsed content. A range of a JSON text is not a JSON text,
    although its media type says so. The answer to a listener of events has no end, and Schemathesis would wait for it.
    The URL at the end of a view is a rest of the target, too, and only the server can make the ticket in front of it.
    """
    lead_home(raw_schema)
    put_back(raw_schema)
    paths = raw_schema["paths"]
    any_type = [paths["/entries/{key}/content"]["put"]["requestBody"], raw_schema["components"]["requestBodies"]["ForOrigin"]]
    for body in any_type:
        body["content"] = {"application/octet-stream": body["content"]["*/*"]}
    paths["/openapi.yaml"]["get"]["responses"]["200"]["content"]["application/yaml"]["schema"] = {"type": "object"}
    del paths["/json"]["get"]["responses"]["206"]["content"]["application/json"]["schema"]
    del paths["/events"]
    del paths["/pages/{key}/view/{ticket}/{url}"]
    item = paths.pop("/fetch/{url}")
    name = {"name": "name", "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
    item["parameters"] = [name] + [
        parameter for parameter in item["parameters"] if parameter["$ref"] != "#/components/parameters/FetchURL"
    ]
    for root in ("", "fresh/"):
        copy = json.loads(json.dumps(item).replace('"operationId": "', f'"operationId": "{root[:5]}'))
        paths[f"/fetch/{ORIGIN}/{root}{{name}}"] = copy


def put_back(value):
    """Replaces the extensions of openapi.yaml, which exist for generators of clients, with OpenAPI's own keywords.

    `x-also` is another form of a value, `x-itemSchema` the schema of a line, `x-pattern` a pattern. `*/*` covers bytes.
    """
    if isinstance(value, dict) and "*/*" in value:
        value.pop("application/octet-stream", None)
    for key, member in list(value.items() if isinstance(value, dict) else enumerate(value)):
        if not isinstance(member, (dict, list)):
            continue
        put_back(member)
        if isinstance(member, list):
            continue
        if "x-pattern" in member:
            member["pattern"] = member.pop("x-pattern")
        if "x-also" in member:
            also = member.pop("x-also")
            value[key] = {"anyOf": [member, also]}
        if key in ("application/x-ndjson", "application/jsonl"):
            member["schema"] = member.pop("x-itemSchema")


def lead_home(value):
    """Leads each example in a part of the document to the script's own origin."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, member in list(items):
        if isinstance(member, (dict, list)):
            lead_home(member)
        elif isinstance(member, str) and key not in ("description", "summary"):
            for host in ("https://api.example.com", "https://example.com"):
                value[key] = value[key].replace(host, ORIGIN)


@schemathesis.hook
def filter_case(context, case):
    """Drops cases with unknown fields. They are valid requests, because all fields go to the origin."""
    return not any(name.lower().startswith("x-schemathesis-unknown") for name in case.headers or {})


@schemathesis.hook
def before_call(context, case, kwargs):
    """Fits parameters to one another where OpenAPI cannot express their relation."""
    for name, value in (case.query or {}).items():
        # A head that does not fit is refused before any call, perhaps by libmicrohttpd and in HTML. A shorter value of
        # ASCII exceeds the limit of a value, too.
        if isinstance(value, str) and len(quote(value)) > 9000:
            case.query[name] = "x" * 9000
    if case.meta is None or not case.meta.generation.mode.is_positive:
        # With a ttl of 0, the server does not read the body and does not notice its mistakes.
        query = case.query or {}
        if case.method.upper() == "PUT" and re.fullmatch(r"0+(\.0*)?", str(query.get("ttl"))):
            query["ttl"] = "1"
        return
    parameters = case.path_parameters or {}
    if case.operation.definition.raw.get("operationId") == "putContent":
        # JSON Schema counts characters, but file systems count bytes. A key from an answer can be the key of a URL.
        key = parameters["key"].encode()[:255].decode(errors="ignore")
        parameters["key"] = f"own.{key}" if re.fullmatch(r"[0-9a-f]{32}(\.[0-9a-f]{8}|-page)?|[0-9a-f]{64}-body", key) else key
    if case.operation.definition.raw.get("operationId") == "putNamespace" and isinstance(case.body, dict):
        if isinstance(version := case.body.get("version"), str):
            case.body["version"] = version.encode()[:255].decode(errors="ignore")
    query = case.query or {}
    # Only cursors of the server are valid.
    query.pop("cursor", None)
    # urlParams is valid only beside url.
    if case.operation.path == "/entries" and "url" not in query:
        query.pop("urlParams", None)
    if case.method.upper() == "DELETE" and case.operation.path == "/entries":
        # A removal needs a filter or all, and not both.
        filters = set(query) - {"all", "dryRun"}
        if filters:
            query.pop("all", None)
        else:
            query["all"] = "true"
    case.query = query
