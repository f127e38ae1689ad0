"""How far an agent reaches: nowhere, to listed names and ports through the proxy, or wherever this host does."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.sandboxes import Box, box
from workspace.agents.confinement import Network, Terms
from workspace.agents.hostnames import is_address, spelled
from workspace.agents.proxies import Proxy
from workspace.agents.tunnels import UnlistedError, connect
from workspace.executors import sandbox

LISTED = ("model.example.com:443",)
ASK = """
import os, socket, sys, urllib.parse
proxy = urllib.parse.urlsplit(os.environ["HTTPS_PROXY"])
for asked in sys.argv[1:]:
    with socket.create_connection((proxy.hostname, proxy.port)) as way:
        way.sendall(f"CONNECT {asked} HTTP/1.1\\r\\nHost: {asked}\\r\\n\\r\\n".encode())
        way.shutdown(socket.SHUT_WR)
        print(b"".join(iter(lambda: way.recv(4096), b"")).decode().replace("\\r\\n\\r\\n", " | ").splitlines()[0])
"""


@contextmanager
def a_server() -> Iterator[int]:
    """Greet whoever connects, once each, on a port of this host."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_greet, args=(server,))
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()


def _greet(server: socket.socket) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:
            return
        with client:
            client.sendall(b"welcome\n")


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Let every name lead to a server of the test's own, and remember which was asked for."""
    asked: list[str] = []
    with a_server() as port:

        def connect(name: str, wanted: int) -> socket.socket:
            asked.append(f"{name}:{wanted}")
            return socket.create_connection(("127.0.0.1", port))

        monkeypatch.setattr(sandbox, "Proxy", lambda *given: Proxy(*given, connect))
        yield asked


@pytest.fixture
def cell(tmp_path: Path) -> Box:
    return box(tmp_path).with_(network=Network.hosts, hosts=LISTED)


@pytest.mark.case("W23")
def test_a_listed_name_and_port_is_reached_and_nothing_else(cell: Box, reached: list[str]) -> None:
    tried = ["model.example.com:443", "MODEL.example.com.:443", "model.example.com:80", "other.example.com:443"]
    hidden = ["93.184.216.34:443", "[::1]:443", "127.0.0.1:5432", "2130706433:443", "localhost:443"]

    ended = cell.run("/usr/bin/env", "python3", "-c", ASK, *tried, *hidden)

    said = ended.output.path.read_text().splitlines()
    assert ["200" in line for line in said[: len(tried)]] == [True, True, False, False]
    assert said[0].endswith("| welcome")
    assert ["403" in line for line in said[len(tried) : len(tried) + len(hidden)]] == [True] * len(hidden)
    assert reached == ["model.example.com:443"] * 2
    assert ended.code == 0


@pytest.mark.case("W23")
def test_what_was_refused_stands_at_the_end_of_the_output(cell: Box, reached: list[str]) -> None:
    ended = cell.run(
        "/usr/bin/env", "python3", "-c", ASK, "other.example.com:443", "other.example.com:443", "10.0.0.1:22"
    )

    last = ended.output.tail.splitlines()[-1]
    assert last.startswith("weighlock: connections refused: ")
    assert '"other.example.com:443" not listed (2)' in last
    assert '"10.0.0.1:22" an address, not a name (1)' in last
    assert reached == []


@pytest.mark.case("W23")
def test_there_is_no_other_way_out(cell: Box) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        straight = f"import socket; socket.create_connection(('127.0.0.1', {port}))"
        names = "import socket; socket.getaddrinfo('model.example.com', 443)"

        assert cell.run("/usr/bin/env", "python3", "-c", straight).code == 1
        assert cell.run("/usr/bin/env", "python3", "-c", names).code == 1
    assert cell.shell("ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1").split() == ["lo"]


@pytest.mark.case("W23")
@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "169.254.169.254", "0.0.0.0", "::ffff:127.0.0.1", "fe80::1%2"])
def test_a_listed_name_that_leads_to_this_host_is_refused(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 0, "", (address, 443))]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)

    with pytest.raises(UnlistedError, match="this host"):
        connect("model.example.com", 443)


def test_the_policy_of_a_repository_beats_the_settings(cell: Box, reached: list[str]) -> None:
    terms = Terms(network=Network.hosts, hosts=("other.example.com:8443",))

    said = cell.shell(f"/usr/bin/env python3 -c '{ASK}' model.example.com:443 other.example.com:8443", terms)

    assert ["200" in line for line in said.splitlines()[:2]] == [False, True]
    assert reached == ["other.example.com:8443"]


def test_without_a_network_there_is_no_proxy_to_ask(cell: Box) -> None:
    assert "PROXY" not in cell.shell("env", Terms(network=Network.off)).upper()


def test_with_a_network_the_hosts_own_is_there(cell: Box) -> None:
    with a_server() as port:
        ask = f'import socket; print(socket.create_connection(("127.0.0.1", {port})).recv(99).decode())'

        said = cell.shell(f"/usr/bin/env python3 -c '{ask}'", Terms(network=Network.on))

    assert said.strip() == "welcome"


def test_a_host_that_does_not_answer_is_told_from_one_that_may_not_be_asked(
    cell: Box, monkeypatch: pytest.MonkeyPatch
) -> None:
    def connect(name: str, port: int) -> socket.socket:
        raise TimeoutError(110, "Connection timed out")

    monkeypatch.setattr(sandbox, "Proxy", lambda *given: Proxy(*given, connect))

    ended = cell.run("/usr/bin/env", "python3", "-c", ASK, *LISTED)

    assert "502" in ended.output.tail
    assert "refused" not in ended.output.tail


def test_a_proxy_is_gone_with_its_agent(cell: Box) -> None:
    cell.run("true")

    assert list((cell.room / "way").iterdir()) == []
    assert [each.name for each in threading.enumerate() if each.name == "proxy"] == []


@pytest.mark.parametrize(
    ("written", "name"),
    [("api.example.com", "api.example.com:443"), ("API.Example.com.:8443", "api.example.com:8443"), ("a", "a:443")],
)
def test_a_name_has_one_spelling(written: str, name: str) -> None:
    assert spelled(written) == name


@pytest.mark.parametrize(
    "written",
    ["", "*.example.com", "http://a.b", "a b", "a..b", "-a.b", "a.b:0", "a.b:65536", "a.b:x", "127.1", "0x7f.1"],
)
def test_what_names_no_single_host_is_none(written: str) -> None:
    with pytest.raises(ValueError, match=r"host|port"):
        spelled(written)


@pytest.mark.parametrize("written", ["127.0.0.1", "::1", "[::1]", "127.1", "2130706433", "0x7f000001", "1.2.3.0x4"])
def test_an_address_is_no_name_in_any_spelling(written: str) -> None:
    assert is_address(written)
