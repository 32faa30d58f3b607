"""The figures of a running app at ``http://127.0.0.1:PORT/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from waterclock.errors import ConfigError
from waterclock.runtime.metrics.figures import Status
from waterclock.runtime.metrics.prometheus import CONTENT_TYPE, text

PATH = "/metrics"


class MetricsServer:
    def __init__(self, port: int, status: Callable[[], Status]) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                found = self.path.split("?")[0] == PATH
                body = text([status()]).encode() if found else b"Look at /metrics.\n"
                self.send_response(200 if found else 404)
                self.send_header("Content-Type", CONTENT_TYPE if found else "text/plain; charset=utf-8")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Requests are not worth a line each."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except (OSError, OverflowError) as error:
            fix = f"It cannot be opened ({error}). Choose another, or 0 for any free one."
            raise ConfigError("CONFIG.BAD_OPTION", option="metrics_port", value=port, fix=fix) from error
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}{PATH}"
        threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
