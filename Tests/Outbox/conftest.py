"""The fixtures: the servers of other makers, once for all tests, and a proxy and a Larder for each test."""

import itertools

import pytest
from outbox import Outbox
from proxy import Proxy

_names = itertools.count(1)


@pytest.fixture(scope="session")
def servers(tmp_path_factory):
    """Starts each server when a test first asks for it."""
    started = {}

    def get(type):
        if type not in started:
            started[type] = type(tmp_path_factory.mktemp(type.__name__.lower()))
        return started[type]

    yield get
    for server in started.values():
        server.stop()


@pytest.fixture
def server(request, servers):
    return servers(request.param)


@pytest.fixture
def proxy(server):
    proxy = Proxy(server.port)
    yield proxy
    proxy.close()


@pytest.fixture
def outbox(server, proxy, tmp_path):
    outbox = Outbox(tmp_path, proxy, server.secrets)
    yield outbox
    outbox.larder.stop()


@pytest.fixture
def path(server):
    """A new resource with its first body."""
    name = f"note-{next(_names)}"
    path = server.path(name)
    server.write(path, server.first(name))
    return path
