"""What OpenAI's own client makes of our proxy.

The client parses every answer into its typed models, so these tests catch
answers that a lenient front end would let pass.
"""

import openai
import pytest

MODEL = "offline"
MESSAGES = [
    {"role": "system", "content": "You tell a story by the sea."},
    {"role": "user", "content": "We climb the stairs of the lighthouse. What do we see?"},
]


def test_the_offline_storyteller_is_listed_as_a_model(client):
    models = client.models.list()
    assert models.object == "list"
    assert MODEL in [model.id for model in models]


def test_a_chat_without_streaming_returns_one_finished_message(client):
    reply = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert reply.object == "chat.completion"
    assert len(reply.choices) == 1
    assert reply.choices[0].index == 0
    assert reply.choices[0].finish_reason == "stop"
    assert reply.choices[0].message.role == "assistant"
    assert reply.choices[0].message.content.strip() != ""


def test_a_stream_adds_up_to_the_same_shape_as_a_whole_reply(client):
    chunks = list(client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True))
    assert len(chunks) > 1
    assert {chunk.object for chunk in chunks} == {"chat.completion.chunk"}
    assert len({chunk.id for chunk in chunks}) == 1
    choices = [choice for chunk in chunks for choice in chunk.choices]
    assert {choice.index for choice in choices} == {0}
    assert choices[0].delta.role == "assistant"
    assert "".join(choice.delta.content or "" for choice in choices).strip() != ""
    # The reason comes once, at the end.
    reasons = [choice.finish_reason for choice in choices]
    assert reasons[-1] == "stop"
    assert set(reasons[:-1]) <= {None}


def test_the_client_can_leave_a_stream_early_and_ask_again(client):
    with client.chat.completions.create(model=MODEL, messages=MESSAGES, stream=True) as stream:
        next(iter(stream))
    reply = client.chat.completions.create(model=MODEL, messages=MESSAGES)
    assert reply.choices[0].message.content.strip() != ""


@pytest.mark.parametrize("stream", [False, True])
def test_fields_we_do_not_know_are_accepted(client, stream):
    reply = client.chat.completions.create(
        model=MODEL,
        messages=MESSAGES,
        stream=stream,
        temperature=0.7,
        extra_body={"min_p": 0.05, "a_field_of_tomorrow": {"nested": [1, None, "two"]}},
    )
    if stream:
        choices = [choice for chunk in reply for choice in chunk.choices]
        text = "".join(choice.delta.content or "" for choice in choices)
    else:
        text = reply.choices[0].message.content
    assert text.strip() != ""


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 404, 429, 503])
def test_a_refusal_of_the_upstream_reaches_the_client_with_its_status(
    refused_client, status, stream
):
    model = f"status-{status}"
    with pytest.raises(openai.APIStatusError) as caught:
        refused_client.chat.completions.create(model=model, messages=MESSAGES, stream=stream)
    assert caught.value.status_code == status
    assert f"refused {model}" in caught.value.message
