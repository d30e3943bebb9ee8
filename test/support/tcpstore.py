# SPDX-License-Identifier: Apache-2.0
"""A store like that of torchrun's agent: PyTorch's TCPStore protocol, as far as ranks use it."""

import socket
import socketserver
import struct
import threading


class _Client(socketserver.BaseRequestHandler):
    def bytes(self, count):
        data = b""
        while len(data) < count:
            piece = self.request.recv(count - len(data))
            if not piece:
                raise ConnectionError
            data += piece
        return data

    def number(self, form="<Q"):
        return struct.unpack(form, self.bytes(struct.calcsize(form)))[0]

    def text(self):
        return self.bytes(self.number())

    def handle(self):
        try:
            while True:
                getattr(self, f"query_{self.bytes(1)[0]}")()
        except (ConnectionError, AttributeError):  # it left, or the request is unknown
            pass

    def query_0(self):
        if self.number("<I") != 0x3C85F7CE:
            raise ConnectionError

    def query_1(self):
        key = self.text()
        value = self.text()
        with self.server.changed:
            self.server.values[key] = value
            self.server.changed.notify_all()

    def query_3(self):
        value = self.server.values[self.text()]
        self.request.sendall(struct.pack("<Q", len(value)) + value)

    def query_5(self):
        keys = [self.text() for _ in range(self.number())]
        self.request.sendall(bytes([not all(key in self.server.values for key in keys)]))

    def query_6(self):
        keys = [self.text() for _ in range(self.number())]
        with self.server.changed:
            self.server.changed.wait_for(lambda: all(key in self.server.values for key in keys), 60)
        self.request.sendall(b"\0")

    def query_8(self):
        with self.server.changed:
            self.request.sendall(struct.pack("<q", self.server.values.pop(self.text(), None) is not None))


class Store(socketserver.ThreadingTCPServer):
    """Serves on a free port of this host until closed."""
    daemon_threads = True

    def __init__(self, address="127.0.0.1"):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, 0), _Client)
        self.values, self.changed = {}, threading.Condition()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def port(self):
        return self.server_address[1]

    def close(self):
        self.shutdown()
        self.server_close()
