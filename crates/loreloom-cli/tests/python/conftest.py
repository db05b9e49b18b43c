"""The real `loreloom serve`, started for the tests and stopped after them.

The binary comes from LORELOOM_BINARY, which `./dev test sdk` sets. It is ready
when it prints `listening on http://127.0.0.1:PORT`; port 0 lets the system
choose, so that runs side by side do not meet.
"""

import json
import os
import queue
import re
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import openai
import pytest

START_SECONDS = 60

BOOK = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["lighthouse"],
            "keysecondary": [],
            "comment": "The lighthouse",
            "content": "The lighthouse of Orrin burns with a green flame.",
            "constant": False,
            "selective": False,
            "order": 100,
            "position": 0,
            "disable": False,
        }
    }
}


@pytest.fixture(scope="session")
def binary():
    path = os.environ.get("LORELOOM_BINARY")
    if not path:
        pytest.fail("LORELOOM_BINARY must name the loreloom program; run `./dev test sdk`")
    return path


def read_lines(stream, lines):
    """Hands each line on and keeps reading, so that the pipe never fills up."""
    for line in stream:
        lines.put(line)
    lines.put(None)


def wait_for_address(process, log):
    lines = queue.Queue()
    threading.Thread(target=read_lines, args=(process.stdout, lines), daemon=True).start()
    seen = []
    while True:
        try:
            line = lines.get(timeout=START_SECONDS)
        except queue.Empty:
            line = None
        if line is None:
            raise RuntimeError(f"no `listening on` line; stdout {seen!r}, stderr {log.read_text()!r}")
        seen.append(line)
        match = re.match(r"listening on (http://127\.0\.0\.1:\d+)\s*$", line)
        if match:
            return match.group(1)


@contextmanager
def serving(binary, folder, upstream):
    """Yields the address of a server over `upstream` with its own data folder."""
    book = folder / "book.json"
    book.write_text(json.dumps(BOOK), encoding="utf-8")
    log = folder / "stderr.log"
    arguments = ["serve", "--upstream", upstream, "--port", "0", "--deadline", "60000"]
    arguments += ["--data", str(folder / "data"), "--book", str(book)]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [binary, *arguments], stdout=subprocess.PIPE, stderr=errors, text=True
        )
        try:
            yield wait_for_address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def client_of(address):
    # No retries: a test must see the first answer.
    return openai.OpenAI(base_url=f"{address}/v1", api_key="unused", max_retries=0, timeout=60)


@pytest.fixture(scope="session")
def client(binary, tmp_path_factory):
    with serving(binary, tmp_path_factory.mktemp("offline"), "offline") as address:
        yield client_of(address)


class Refusing(BaseHTTPRequestHandler):
    """An upstream that answers every chat with the status its model is named after."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        status = int(body["model"].removeprefix("status-"))
        error = {"message": f"refused {body['model']}", "type": "upstream_error", "code": "refused"}
        reply = json.dumps({"error": error}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *arguments):
        """Silent: pytest shows what matters."""


@pytest.fixture(scope="session")
def refused_client(binary, tmp_path_factory):
    upstream = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{upstream.server_port}/v1"
    try:
        with serving(binary, tmp_path_factory.mktemp("refused"), address) as proxy:
            yield client_of(proxy)
    finally:
        upstream.shutdown()
        upstream.server_close()
