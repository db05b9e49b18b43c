"""Tells a server two stories and something to remember, so that its API has something to show.

Usage: story.py ADDRESS. Prints a memory's id and a message's node, which nobody can know before.
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
memory = {"owner": {"chat": "story"}, "content": "The ferry is late."}
record = call("/api/v1/memory/records", memory)["id"]
with urllib.request.urlopen(sys.argv[1] + "/api/v1/chats/story/path", timeout=30) as response:
    node = json.load(response)["messages"][1]["node"]
print(record, node)
