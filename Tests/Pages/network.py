"""A network in which every address belongs to this machine, and a record of the connections that begin in it.

The network must be that of this process alone (unshare --net). A packet to any address, also to one of the internet,
stays on the loopback interface, where the record sees it.
"""

import socket
import struct
import subprocess
import threading
from dataclasses import dataclass

TCP, UDP = 6, 17
DNS = (53, 5353)
# From linux/if_packet.h and linux/if_ether.h, for which Python has no names.
SOL_PACKET, PACKET_STATISTICS, ETH_P_ALL = 263, 6, 3
SO_RCVBUFFORCE = 33


def prepare():
    """Makes all addresses local. Fails in the network of the machine, which must not be changed."""
    interfaces = [name for _, name in socket.if_nameindex()]
    if interfaces != ["lo"]:
        raise RuntimeError(f"expected a network with only lo, found {interfaces}; run scripts/check-pages")
    # WebRTC uses no loopback interface, so there is another one. No packet takes it, because all addresses are local.
    for command in (
        "link set lo up", "link add other type veth peer name end", "address add 192.0.2.1/24 dev other",
        "link set other up", "link set end up", "route add local default dev lo", "-6 route add local default dev lo",
    ):
        # A machine without IPv6 has no addresses of it to leave by.
        subprocess.run(["ip", *command.split()], check=not command.startswith("-6"), stderr=subprocess.DEVNULL)


@dataclass(frozen=True)
class Opening:
    """The first packet of a TCP connection, or a UDP packet. `name` is the host for which a DNS request asks."""

    protocol: str
    address: str
    port: int
    name: str | None = None


class Record:
    """The openings since the start of the record, until it is closed."""

    def __init__(self):
        self.openings = []
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL))
        # The buffer must not overflow while this process is busy.
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self._change = threading.Condition()
        threading.Thread(target=self._read, daemon=True).start()

    def close(self):
        """Ends the record. Fails if the record lacks a packet."""
        packets, lost = struct.unpack("II", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 8))
        self._socket.close()
        assert packets > 0 and lost == 0, f"the record lost {lost} of {packets} packets"

    def wait(self, condition, seconds=30):
        """Waits until a condition holds for the openings. Returns whether it holds."""
        with self._change:
            return self._change.wait_for(lambda: condition(self.openings), seconds)

    def fence(self):
        """Waits until the record has all packets that were sent before this call."""
        # No browser chooses this address, which is in a network for documentation.
        mark = Opening("udp", "203.0.113.254", 9)
        with self._change:
            known = self.openings.count(mark)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"mark", (mark.address, mark.port))
        assert self.wait(lambda openings: openings.count(mark) > known), "the record does not see its own packet"
        with self._change:
            self.openings.remove(mark)

    def _read(self):
        while True:
            try:
                packet, sender = self._socket.recvfrom(2048)
            except OSError:
                return
            # A packet on the loopback interface is seen twice, when it is sent and when it arrives.
            if sender[2] == socket.PACKET_OUTGOING and (opening := read_opening(packet)):
                with self._change:
                    self.openings.append(opening)
                    self._change.notify_all()


def read_opening(packet):
    """Returns the opening that an IP packet is, or `None`."""
    version = packet[0] >> 4
    if version == 4:
        protocol, destination, rest = packet[9], packet[16:20], packet[(packet[0] & 15) * 4:]
        family = socket.AF_INET
    elif version == 6:
        # Headers of options do not occur on loopback.
        protocol, destination, rest = packet[6], packet[24:40], packet[40:]
        family = socket.AF_INET6
    else:
        return None
    address = socket.inet_ntop(family, destination)
    if protocol == TCP:
        port, flags = struct.unpack_from("!H", rest, 2)[0], rest[13]
        # SYN without ACK
        return Opening("tcp", address, port) if flags & 0x12 == 2 else None
    if protocol == UDP:
        port = struct.unpack_from("!H", rest, 2)[0]
        return Opening("udp", address, port, read_name(rest[8:]) if port in DNS else None)
    return None


def read_name(message):
    """Returns the name in the first question of a DNS message."""
    labels, index = [], 12
    while index < len(message) and 0 < (length := message[index]) < 64:
        labels.append(message[index + 1:index + 1 + length].decode("ascii", "replace"))
        index += 1 + length
    return ".".join(labels)
