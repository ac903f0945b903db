"""Makes real calls with the generated Python client to the server that world.py starts.

scripts/check-clients runs this script, with the folder of the generated package in PYTHONPATH. The script exits with 1
at the first wrong answer.
"""

import hashlib
import io
import json
import os

from larder_client import AuthenticatedClient, Client
from larder_client import models as m
from larder_client.api.download import cancel_download, download, download_all, get_download, list_downloads
from larder_client.api.entries import explain, get_content, get_entry, head_content, list_entries
from larder_client.api.entries import put_content, remove_entries, remove_entry, update_entry
from larder_client.api.fetch import fetch
from larder_client.api.json import get_json, put_json
from larder_client.api.namespaces import get_namespace, list_namespaces, put_namespace, remove_namespace
from larder_client.api.service import get_liveness, get_metrics, get_open_api, get_readiness, get_stats, trim_memory
from larder_client.types import File


def equal(found, expected):
    if found != expected:
        raise AssertionError(f"{found!r} instead of {expected!r}")


def downloads(client, origin):
    url = f"{origin}/users"
    request = m.DownloadRequest(url=url, ttl=3600, tags=["users"])
    request.params = m.Params.from_dict({"page": 2, "sort": ["name", "age"], "active": True})
    result = download.sync(client=client, body=request)
    equal(type(result), m.DownloadResult)
    equal(result.outcome, m.Outcome.DOWNLOADED)
    entry = result.entry
    equal(entry.url, f"{url}?active=true&page=2&sort=age&sort=name")
    equal((entry.kind, entry.state, entry.status), (m.EntryKind.DOWNLOAD, m.EntryState.IS_FRESH, 200))
    equal((entry.tags, entry.pinned, entry.content_type), (["users"], False, "application/json"))
    equal(entry.params.to_dict(), {"page": 2, "sort": ["name", "age"], "active": True})
    equal(round((entry.expiry_date - entry.download_end_date).total_seconds()), 3600)
    equal(download.sync(client=client, body=request).outcome, m.Outcome.CACHED)

    other = m.DownloadRequest(url=f"{origin}/headers", headers=m.FieldsForOrigin.from_dict({"Accept": "application/json"}))
    equal(download.sync(client=client, body=other).outcome, m.Outcome.DOWNLOADED)

    # A member that a request omits keeps its value, also in the form in which the generated client omits it.
    equal(update_entry.sync(entry.key, client=client, body=m.EntryChange(pinned=True)).pinned, True)
    equal(download.sync(client=client, body=request).entry.pinned, True)
    request.refresh = True
    equal(download.sync(client=client, body=request).entry.pinned, True)
    request.pinned = False
    equal(download.sync(client=client, body=request).entry.pinned, False)

    status = get_download.sync(entry.key, client=client)
    equal((status.key, status.state, status.received_bytes), (entry.key, m.DownloadState.SUCCEEDED, entry.content_length))
    equal(cancel_download.sync_detailed(entry.key, client=client).status_code, 409)
    equal(entry.key in [each.key for each in list_downloads.sync(client=client).downloads], True)
    failed = download.sync(client=client, body=m.DownloadRequest(url=f"{origin}/missing"))
    equal((type(failed), failed.status, failed.origin_status), (m.Problem, 502, 404))
    refused = download.sync(client=client, body=m.DownloadRequest(url=url, ttl=-1))
    equal((type(refused), refused.status, refused.pointer), (m.Problem, 400, "/ttl"))

    batch = [m.DownloadRequest(url=f"{origin}/{number}") for number in range(3)] + [m.DownloadRequest(url="x")]
    answer = download_all.sync_detailed(client=client, body=batch)
    lines = sorted((m.BatchLine.from_dict(json.loads(line)) for line in answer.content.splitlines()), key=lambda l: l.index)
    equal([line.index for line in lines], [0, 1, 2, 3])
    equal([line.entry.url for line in lines[:3]], [f"{origin}/{number}" for number in range(3)])
    equal(lines[3].error.status, 400)
    return entry


def lists(client, origin, entry):
    equal([each.key for each in list_entries.sync(client=client, tag="users").entries], [entry.key])
    params = json.dumps(entry.params.to_dict())
    found = list_entries.sync(client=client, url_query=f"{origin}/users", url_params=params)
    equal([each.key for each in found.entries], [entry.key])
    page = list_entries.sync(client=client, limit=2, sort=m.EntrySort.BY_URL_REVERSED, kind=m.EntryKind.DOWNLOAD)
    urls = [each.url for each in page.entries]
    rest = list_entries.sync(
        client=client, limit=2, sort=m.EntrySort.BY_URL_REVERSED, kind=m.EntryKind.DOWNLOAD, cursor=page.next_cursor)
    urls += [each.url for each in rest.entries]
    equal(urls, sorted(urls, reverse=True))
    equal(len(urls), 4)
    said = explain.sync(client=client, url_query=f"{origin}/users", url_params=params)
    equal((said.key, said.hit, said.entry.key, said.download), (entry.key, True, entry.key, None))


def reads(client, entry):
    equal(get_entry.sync(entry.key, client=client).digest, entry.digest)
    answer = get_content.sync_detailed(entry.key, client=client)
    body = answer.content
    equal((answer.status_code, len(body), json.loads(body)["path"][:6]), (200, entry.content_length, "/users"))
    equal(get_content.sync_detailed(entry.key, client=client, range_="bytes=0-1").content, body[:2])
    equal(get_content.sync_detailed(entry.key, client=client, if_none_match=answer.headers["ETag"]).status_code, 304)
    equal(head_content.sync_detailed(entry.key, client=client).headers["Content-Length"], str(len(body)))
    unknown = get_entry.sync("none", client=client)
    equal((type(unknown), unknown.status), (m.Problem, 404))


def stores(client):
    body = bytes(range(256)) * 400
    entry = put_content.sync("own/key".replace("/", " "), client=client, body=File(io.BytesIO(body)), ttl=60, tags=["a", "b"])
    equal((type(entry), entry.key, entry.kind), (m.Entry, "own key", m.EntryKind.DATA))
    equal((entry.tags, entry.pinned, entry.url, entry.params, entry.content_length), (["a", "b"], False, None, None, len(body)))
    equal(get_content.sync_detailed("own key", client=client).content, body)
    again = put_content.sync_detailed("own key", client=client, body=File(io.BytesIO(b"x")), if_none_match="*")
    equal(again.status_code, 412)
    changed = update_entry.sync("own key", client=client, body=m.EntryChange(tags=["c"]))
    equal((changed.tags, changed.expires_in_seconds), (["c"], 60))
    removed = update_entry.sync("own key", client=client, body=m.EntryChange(ttl=0))
    equal((type(removed), removed.removed), (m.Removed, 1))

    where = dict(url_query="https://api.example.com/users", url_params='{"page": 2}')
    for value in ([{"id": 1, "name": "Ada"}], {"a": None}, "text", 5, True):
        stored = put_json.sync(client=client, body=value, ttl=60, **where)
        equal((stored.kind, stored.key), (m.EntryKind.JSON, hashlib.md5(b"https://api.example.com/users?page=2").hexdigest()))
        equal(get_json.sync_detailed(client=client, **where).content, json.dumps(value, separators=(",", ":")).encode())
    refused = put_json.sync(client=client, body={}, **where)
    equal((type(refused), refused.status), (m.Problem, 422))


def fetches(client, origin):
    # On /fetch, Authorization belongs to the origin.
    own = AuthenticatedClient(
        base_url=client._base_url, token=client.token, auth_header_name="Larder-Authorization", timeout=60)
    answer = fetch.sync_detailed(client=own, url_query=f"{origin}/fetched", ttl=60, tags=["f"])
    equal((answer.status_code, json.loads(answer.content)), (200, {"path": "/fetched"}))
    equal("fwd=uri-miss" in answer.headers["Cache-Status"], True)
    equal("hit" in fetch.sync_detailed(client=own, url_query=f"{origin}/fetched", ttl=60).headers["Cache-Status"], True)
    equal([each.kind for each in list_entries.sync(client=client, tag="f").entries], [m.EntryKind.RESPONSE])


def manages(client):
    change = m.NamespaceChange(version="1", disk_limit="64MiB", layout=m.Layout.HASHED, default_ttl=60, origins=["127.0.0.1"])
    space = put_namespace.sync("staging", client=client, body=change)
    equal((space.version, space.disk_limit, space.layout, space.origins), ("1", 64 << 20, m.Layout.HASHED, ["127.0.0.1"]))
    # An omitted member keeps its value, and null restores the default.
    space = put_namespace.sync("staging", client=client, body=m.NamespaceChange(origins=None))
    equal((space.version, space.default_ttl, space.origins), ("1", 60, None))
    put_content.sync("k", client=client, body=File(io.BytesIO(b"x")), larder_namespace="staging")
    equal(get_entry.sync("k", client=client, larder_namespace="staging").namespace, "staging")
    equal(get_entry.sync_detailed("k", client=client).status_code, 404)
    equal(get_namespace.sync("staging", client=client).entries, 1)
    equal([each.name for each in list_namespaces.sync(client=client).namespaces], ["default", "staging"])
    equal(remove_namespace.sync("staging", client=client).removed, 1)


def serves(client):
    stats = get_stats.sync(client=client)
    # The limit needs more than 32 bits.
    equal((stats.disk_limit, stats.downloads.running), (4 << 30, 0))
    equal(stats.hits > 0, True)
    equal(trim_memory.sync(client=client, target="1MiB").memory_bytes <= 1 << 20, True)
    equal("larder_hits_total" in get_metrics.sync(client=client), True)
    open_client = Client(base_url=client._base_url)
    equal((get_liveness.sync(client=open_client).status.value, get_readiness.sync(client=open_client).status.value), ("ok", "ok"))
    equal(get_open_api.sync_detailed(client=open_client).content.startswith(b"openapi: 3.1"), True)
    refused = get_stats.sync(client=AuthenticatedClient(base_url=client._base_url, token="none"))
    equal((type(refused), refused.status), (m.Problem, 401))


def purges(client, entry):
    equal(remove_entries.sync(client=client, tag="users", dry_run=True).removed, 1)
    equal(remove_entries.sync(client=client, tag="users").removed, 1)
    equal(get_entry.sync_detailed(entry.key, client=client).status_code, 404)
    refused = remove_entries.sync(client=client)
    equal((type(refused), refused.status), (m.Problem, 400))
    some = list_entries.sync(client=client).entries[0]
    equal(remove_entry.sync(some.key, client=client).removed >= 1, True)
    equal(remove_entries.sync(client=client, all_=True).removed > 0, True)
    equal(list_entries.sync(client=client).entries, [])


def main():
    origin = os.environ["CHECK_ORIGIN"]
    client = AuthenticatedClient(base_url=os.environ["CHECK_URL"], token=os.environ["CHECK_TOKEN"], timeout=60)
    entry = downloads(client, origin)
    lists(client, origin, entry)
    reads(client, entry)
    stores(client)
    fetches(client, origin)
    manages(client)
    serves(client)
    purges(client, entry)
    print("the Python client downloads, lists, reads, stores, fetches, manages namespaces and purges")


main()
