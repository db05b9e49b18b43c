"""Calls every GET and twenty writes with the client that `./dev test api` generates.

Usage: client.py ADDRESS. The package `loreloom_client` is on the path.
"""

import importlib
import json
import os
import sys
import typing
import urllib.request

from loreloom_client import Client
from loreloom_client.types import File

ADDRESS = sys.argv[1]
CLIENT = Client(base_url=f"{ADDRESS}/api/v1", timeout=60)

with urllib.request.urlopen(f"{ADDRESS}/api/v1/openapi.json", timeout=30) as response:
    PATHS = json.load(response)["paths"]
OPERATIONS = {
    operation["operationId"]: (method, path, operation)
    for path, item in PATHS.items()
    for method, operation in item.items()
}

# The offline storyteller makes no jobs and no entities, and there is no vault, so that these answer
# with a problem.
MAY_BE_MISSING = [
    "get_jobs_job",
    "get_chats_chat_timeline",
    "get_chats_chat_setup",
    "get_characters_character_portrait",
    "get_generations_id",
    "get_lore_notes_note",
    "get_personas_persona_portrait",
]

# Parameters that are not required: a stream that ends, the answer of two that the client has a
# type for, and one owner of three.
CHOSEN = {
    "get_events": ["seconds"],
    "get_books_book_export": ["losses"],
    "get_characters_character_export": ["losses"],
    "get_memory_records_record": ["chat"],
}


def call(operation_id, expected=(200,), **given):
    """Calls an operation. A body that is a dictionary becomes the type that the client wants."""
    _, path, operation = OPERATIONS[operation_id]
    module = importlib.import_module(f"loreloom_client.api.{operation['tags'][0]}.{operation_id}")
    if isinstance(given.get("body"), dict):
        given["body"] = typing.get_type_hints(module.sync_detailed)["body"].from_dict(given["body"])
    answer = module.sync_detailed(client=CLIENT, **given)
    found = answer.status_code.value
    said = f"expected {expected}, found {found}: {answer.content[:400]}"
    assert found in expected, f"{operation_id} ({path}): {said}"
    return json.loads(answer.content) if "json" in answer.headers.get("content-type", "") else answer


def writes():
    """Twenty-two writes. Answers what the reads need."""
    call("post_books", (201,), body={"id": "made", "name": "Made"})
    call("patch_books_book", book="made", body={"name": "Renamed"})
    lorebook = json.dumps({"entries": {"0": {"uid": 0, "key": ["weir"], "content": "It broke."}}})
    call("post_books_import", (201,), id="read", body=File(payload=lorebook.encode()))
    call("put_books_book", book="read", body=File(payload=lorebook.encode()))
    entry = {"name": "Weir", "content": "It broke.", "activation": {"keys": ["weir"]}}
    wrote = call("post_lore_entries", (201,), body={"book": "made", "entry": entry})
    entry = wrote["item"]["id"]
    undo = call("patch_lore_entries_entry", entry=entry, body={"content": "It holds."})["undo"]
    call("post_undo", body={"undo": undo})
    call("post_lore_match", body={"text": "At the weir."})
    call("post_lore_frequency", body={"entry": entry})
    call("post_chats", (201,), body={"id": "made"})
    call("patch_chats_chat", chat="made", body={"title": "A made story"})
    said = {"messages": [{"role": "user", "content": "Hello."}]}
    call("post_chats_chat_messages", chat="made", body=said)
    call("post_weave", body={"chat": "made", "messages": said["messages"]})
    memory = {"owner": {"chat": "made"}, "content": "The ferry is late."}
    call("post_memory_records", body=memory)
    call("post_chats_chat_memory_search", chat="story", body={"text": "ferry"})
    call("patch_settings", body={"story.user": "Wren"})
    call("patch_chats_chat_notebooks", chat="made", body={"author": "The ferry sank."})
    call("patch_chats_chat_scene", chat="made", body={"fields": {"era": "old"}})
    call("put_connections_name", (201,), name="spare", body={"kind": "offline"})
    call("post_connections_test", body={"connection": "spare"})
    call("delete_connections_name", name="spare")
    call("post_keys", (201,), body={"name": "made", "scopes": ["read"]})
    call("post_characters", (201,), body={"id": "mira", "card": {"name": "Mira"}})
    call("post_personas", (201,), body={"id": "wren", "name": "Wren"})
    run = call("post_replay", (202,), body={"chats": ["story"]})
    call("delete_books_book", book="read")
    return {"entry": entry, "run": run["id"]}


def reads(known):
    """Every GET of the document."""
    values = {
        "book": "made",
        "character": "mira",
        "chat": "story",
        "id": 1,
        "job": 1,
        "losses": True,
        "name": "Mira",
        "note": "vault:Quay.md",
        "number": 1,
        "other": 2,
        "persona": "wren",
        "q": "harbour",
        "record": os.environ["LORELOOM_RECORD"],
        "seconds": 1,
        "turn": 1,
        "who": "Mira",
        **known,
    }
    # A turn knows the entries of its own time.
    old = call("get_lore_entries", f="book:world")["items"][0]["id"]
    names = [name for name, (method, _, _) in OPERATIONS.items() if method == "get"]
    for name in names:
        parameters = OPERATIONS[name][2].get("parameters", [])
        needed = [one["name"] for one in parameters if one.get("required")]
        needed += CHOSEN.get(name, [])
        expected = (200, 404) if name in MAY_BE_MISSING else (200,)
        given = {one: values[one] for one in needed}
        if "entry" in given and "turn" in given:
            given["entry"] = old
        call(name, expected, **given)
    return len(names)


known = writes()
print(f"generated client: {reads(known)} reads, 22 writes and 4 questions")
