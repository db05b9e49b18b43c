"""Tells a server two stories and something to remember, so that its API has something to show.

Usage: story.py ADDRESS
"""

import json
import sys
import urllib.request


def call(path, body, headers=None):
    request = urllib.request.Request(
        sys.argv[1] + path,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json", **(headers or {})},
        method="POST",
    )
    with urllib.request.urlopen(request, timeout=30) as response:
        return json.load(response)


def tell(chat, texts):
    messages = [{"role": "system", "content": "You are Mira."}]
    for text in texts:
        messages.append({"role": "user", "content": text})
        reply = call(
            "/v1/chat/completions",
            {"model": "offline", "messages": messages},
            {"x-loreloom-chat": chat},
        )
        messages.append(reply["choices"][0]["message"])


tell("story", ["I come to the harbour.", "Who keeps the bell?", "And the ferry?"])
tell("spare", ["Another day."])
for book in ["book", "spare-book"]:
    call("/api/v1/books", {"id": book, "name": "A book"})
    entry = {"name": "Weir", "content": "It broke.", "activation": {"keys": ["weir"]}}
    call("/api/v1/lore/entries", {"book": book, "entry": entry})
