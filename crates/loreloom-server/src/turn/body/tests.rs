use loreloom_core::{
    assemble::Layout,
    place::{Injection, Place, Provenance},
    units::{Depth, Tokens},
};
use serde_json::json;

use super::*;

const CHAT: &str = "/v1/chat/completions";

fn read(path: &str, text: &str) -> RequestBody {
    RequestBody::read(path, &HeaderMap::new(), &Bytes::copy_from_slice(text.as_bytes())).unwrap()
}

fn unread(headers: &HeaderMap, text: &str) -> Unreadable {
    RequestBody::read(CHAT, headers, &Bytes::copy_from_slice(text.as_bytes())).err().unwrap()
}

fn lore(place: Place, text: &str) -> Injection {
    let source = Provenance::Memory("x".to_owned());
    Injection { place, role: Role::System, text: text.to_owned(), tokens: Tokens(5), source }
}

/// The body with lore, and the prompt as the report shows it.
fn weave(path: &str, text: &str, lore: &[Injection]) -> (String, Vec<String>) {
    let mut body = read(path, text);
    let memory = loreloom_recognise::KnownStories::new();
    let mut layout: Layout = memory.recognise(&body.request).layout(&body.request, false);
    layout.fixed = body.fixed();
    let prompt = body.take_prompt();
    let plan = layout.plan(&prompt, lore);
    let texts =
        plan.apply(prompt).messages.into_iter().map(|message| message.content.into()).collect();
    let woven = body.woven(&plan, &[]);
    (String::from_utf8(woven.to_vec()).unwrap(), texts)
}

const ODD: &str = "{ \"temperature\" : 1.50e0,\"messages\":[ {\"role\":\"system\",\"content\":\"card\"},\n\
    {\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"lo\\u006fk\"},{\"type\":\"image_url\",\"image_url\":{\"url\":\"data:\"}}],\"z\":1}] , \"a\":null,\"b\":12345678901234567890 }";

#[test]
fn every_byte_but_the_lore_is_left_alone() {
    let (body, _) = weave(CHAT, ODD, &[]);
    assert_eq!(body, ODD);
    let (body, texts) = weave(CHAT, ODD, &[lore(Place::AfterCharacter, "The bell is cracked.")]);
    let new = r#"{"role":"system","content":"The bell is cracked."},{"role":"user","content":["#;
    assert_eq!(body, ODD.replace(r#"{"role":"user","content":["#, new));
    assert_eq!(texts, ["card", "The bell is cracked.", "look"]);
    let (body, _) = weave(CHAT, ODD, &[lore(Place::AtDepth(Depth(0)), "End.")]);
    assert_eq!(
        body,
        ODD.replace("\"z\":1}", "\"z\":1},{\"role\":\"system\",\"content\":\"End.\"}")
    );
}

#[test]
fn our_own_field_is_read_and_never_passed_on() {
    for (own, complaint) in [
        (r#"{"chat":"c7","char":"Orla","type":"swipe","pins":[]}"#, None),
        (r#"{"chatt":"c7"}"#, Some("`loreloom` has no field `chatt`")),
        (
            r#"{"type":"swype"}"#,
            Some(
                "`loreloom.type` must be one of `normal`, `continue`, `impersonate`, `swipe`, \
                 `regenerate`, `quiet`, found `swype`",
            ),
        ),
        ("17", Some("`loreloom` must be an object, found `17`")),
        (r#"{"char":3}"#, Some("`loreloom.char` must be text, found `3`")),
    ] {
        let text = ODD.replacen('{', &format!(r#"{{"loreloom":{own},"#), 1);
        let mut body = read(CHAT, &text);
        let found = body.complaint.take();
        assert_eq!(found.as_deref(), complaint, "{own}");
        let came = Bytes::from(text);
        let passed = body.woven(&Plan::default(), &[]);
        assert_eq!(passed, ODD, "{own}");
        assert_eq!(without_own_field(&came), ODD, "{own}");
    }
    let end = [lore(Place::AtDepth(Depth(0)), "End.")];
    let (expected, _) = weave(CHAT, ODD, &end);
    let twice = ODD.replacen('{', r#"{"loreloom":{},"#, 1);
    let twice = twice.replacen("\"a\":null", "\"loreloom\" : {} , \"a\":null", 1);
    for (text, times) in [(ODD.replacen('{', r#"{"loreloom":{},"#, 1), "once"), (twice, "twice")] {
        assert_eq!(weave(CHAT, &text, &end).0, expected, "{times}");
    }
    let body = read(CHAT, r#"{"messages":[],"loreloom":{"chat":"c7","type":"quiet"}}"#);
    assert_eq!(body.request.explicit.chat.as_deref(), Some("c7"));
}

#[test]
fn our_headers_are_read_as_utf_8_and_what_they_cannot_say_is_told() {
    let read = |name: &'static str, value: &[u8]| {
        let value = http::HeaderValue::from_bytes(value).unwrap();
        let headers = HeaderMap::from_iter([(http::HeaderName::from_static(name), value)]);
        let none = Bytes::from_static(br#"{"messages":[]}"#);
        let body = RequestBody::read(CHAT, &headers, &none).unwrap();
        (body.request.explicit.chat, body.request.explicit.generation, body.complaint)
    };
    let chat = "Märchen 7";
    assert_eq!(read("x-loreloom-chat", chat.as_bytes()), (Some(chat.to_owned()), None, None));
    let (chat, _, complaint) = read("x-loreloom-chat", b"M\xe4rchen");
    assert_eq!((chat, complaint.as_deref()), (None, Some("`x-loreloom-chat` must be UTF-8")));
    let (_, generation, complaint) = read("x-loreloom-type", b"swype");
    assert_eq!(generation, None);
    assert!(complaint.unwrap().starts_with("`x-loreloom-type` must be one of `normal`, "));
    assert_eq!(read("x-loreloom-weave", b"on").2, None);
    let complaint = read("x-loreloom-weave", b"offf").2;
    assert_eq!(complaint.unwrap(), "`x-loreloom-weave` must be `off` or `on`, found `offf`");
}

#[test]
fn markers_are_filled_in_the_part_they_stand_in() {
    let text = r#"{"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"},{"type":"text","text":"b {{outlet::x}} c","k":1.0}]}]}"#;
    let (body, texts) = weave(CHAT, text, &[lore(Place::Outlet("x".to_owned()), "LORE")]);
    assert_eq!(body, text.replace("{{outlet::x}}", "LORE"));
    assert_eq!(texts, ["a\nb LORE c"]);
}

#[test]
fn every_shape_of_body_is_woven() {
    let after = [lore(Place::AfterCharacter, "LORE")];
    for (path, text, expected) in [
        ("/v1/completions", r#"{"prompt":"Once","n":1.0}"#, r#"{"prompt":"LORE\nOnce","n":1.0}"#),
        ("/v1/completions", r#"{"prompt":["Once"]}"#, r#"{"prompt":["LORE\nOnce"]}"#),
        (
            "/api/generate",
            r#"{"raw":true,"prompt":"Once"}"#,
            r#"{"raw":true,"prompt":"LORE\nOnce"}"#,
        ),
        (
            "/v1/responses",
            r#"{"input":"hi","instructions":"be brief","x":1.0}"#,
            r#"{"input":[{"role":"system","content":"LORE"},{"role":"user","content":"hi"}],"instructions":"be brief","x":1.0}"#,
        ),
        (
            "/v1/responses",
            r#"{"input":[{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
            r#"{"input":[{"role":"system","content":"LORE"},{"role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
        ),
        (
            CHAT,
            r#"{"messages":[{"role":"developer","content":"d"},{"role":"user","content":"hi"}]}"#,
            r#"{"messages":[{"role":"developer","content":"d"},{"role":"developer","content":"LORE"},{"role":"user","content":"hi"}]}"#,
        ),
        (CHAT, r#"{"messages": [ ]}"#, r#"{"messages": [{"role":"system","content":"LORE"} ]}"#),
        // A front end may cut a text in the middle of an emoji.
        (
            CHAT,
            r#"{"messages":[{"role":"user","content":"a\ud83d\u00e9"}]}"#,
            r#"{"messages":[{"role":"system","content":"LORE"},{"role":"user","content":"a\ufffd\u00e9"}]}"#,
        ),
    ] {
        assert_eq!(weave(path, text, &after).0, expected, "{text}");
    }
}

#[test]
fn what_has_no_prompt_says_why() {
    for (body, reason) in [
        ("[]", "the body is not a JSON object"),
        ("\u{1f}\u{8b}", "the body is not a JSON object"),
        (r#"{"model":"x"}"#, "the body has neither `messages` nor one `prompt` or `input`"),
        (r#"{"messages":["x"]}"#, "the body has neither `messages` nor one `prompt` or `input`"),
        (r#"{"prompt":["a","b"]}"#, "the body has neither `messages` nor one `prompt` or `input`"),
        (r#"{"prompt":[1,2]}"#, "the body has neither `messages` nor one `prompt` or `input`"),
    ] {
        let error = unread(&HeaderMap::new(), body);
        assert_eq!(error.to_string(), reason, "{body}");
    }
    let mut headers = HeaderMap::new();
    headers.insert("content-encoding", "gzip".parse().unwrap());
    let error = unread(&headers, &json!({}).to_string());
    assert_eq!(error.to_string(), "the body is compressed");
}

#[test]
fn a_prompt_that_is_a_text_is_told_from_messages() {
    for (path, body, is_text) in [
        (CHAT, r#"{"messages":[{"role":"user","content":"hi"}]}"#, false),
        ("/v1/responses", r#"{"input":"hi"}"#, false),
        ("/v1/completions", r#"{"prompt":"Once"}"#, true),
        ("/v1/completions", r#"{"prompt":["Once"]}"#, true),
        ("/completion", r#"{"prompt":"Once"}"#, true),
        ("/api/v1/generate", r#"{"prompt":"Once"}"#, true),
    ] {
        assert_eq!(read(path, body).is_text(), is_text, "{path} {body}");
    }
}
