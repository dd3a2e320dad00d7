"""Servers on this machine: one that serves a folder, and some that break off or never end."""

import contextlib
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class BreakingHandler(QuietHandler):
    """Promises more than it sends."""

    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"too short")


class EndlessHandler(QuietHandler):
    """Sends until nobody listens any more."""

    def __init__(self, announces, *args, **kwargs):
        self.announces = announces
        super().__init__(*args, **kwargs)

    def do_GET(self):
        self.send_response(200)
        if self.announces:
            self.send_header("Content-Length", str(10**12))
        self.end_headers()
        with contextlib.suppress(OSError):
            while True:
                self.wfile.write(b"0" * 2**16)


def serving(handler):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    return server, f"http://127.0.0.1:{server.server_port}"
