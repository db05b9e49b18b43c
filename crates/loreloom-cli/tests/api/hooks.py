"""Keeps calls at home: what they make up may name any folder of this machine, or any server.

A text that names a folder becomes the folder of notes in `LORELOOM_NOTES`, an address one of this
machine where nobody listens, and a key's source a variable that is not set. What is no text, and is
therefore to be refused, stays as it is.
"""

import os

import schemathesis

NOBODY = "http://127.0.0.1:9/v1"


def at_home(body):
    if not isinstance(body, dict):
        return body
    body = dict(body)
    if isinstance(body.get("folder"), str):
        body["folder"] = os.environ["LORELOOM_NOTES"]
    if isinstance(body.get("url"), str):
        body["url"] = NOBODY
    if isinstance(body.get("key"), str) and ":" in body["key"]:
        body["key"] = "env:LORELOOM_NO_KEY"
    if isinstance(body.get("tokenizer"), dict) and isinstance(body["tokenizer"].get("file"), str):
        body["tokenizer"] = {**body["tokenizer"], "file": "no-tokenizer.json"}
    if isinstance(body.get("settings"), dict):
        body["settings"] = at_home(body["settings"])
    return body


@schemathesis.hook.apply_to(method="POST", path=["/vaults", "/connections/test"])
def map_body(context, body):
    return at_home(body)
