//! `test`: expectations about lore.

use serde_json::Value;
use tempfile::TempDir;

use crate::run::{run, write};

const BOOK: &str = r#"{"entries":{
  "0":{"uid":0,"key":["bell"],"comment":"The bell","content":"The bell is cracked.","position":1},
  "1":{"uid":1,"key":["tower"],"comment":"The tower","content":"The tower leans.","position":1}
}}"#;

const GOOD: &str = "
tests:
  - name: the bell rings
    messages: [{ user: I hear a bell. }]
    fires: [The bell]
    does_not_fire: [The tower]
";

const BAD: &str = "
tests:
  - name: the tower is seen
    messages: [{ user: I hear a bell. }]
    fires: [The tower, The mill]
  - name: the bell rings
    messages: [{ user: I hear a bell. }]
    fires: [book/0]
";

#[test]
fn tests_are_printed_and_the_status_tells_whether_they_hold() {
    let home = TempDir::new().unwrap();
    for (name, text) in [("book.json", BOOK), ("good.yaml", GOOD), ("bad.yaml", BAD)] {
        write(home.path(), name, text);
    }
    write(home.path(), "odd.yaml", "tests: 1");
    let told = |arguments: &[&str]| {
        let output = run(home.path(), arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text, String::from_utf8(output.stderr).unwrap())
    };
    let good = told(&["test", "good.yaml", "--book", "book.json"]);
    let passed = "good.yaml: 1 passed, 0 failed\n  ok     the bell rings\n";
    assert_eq!(good, (Some(0), passed.to_owned(), String::new()));
    let both = told(&["test", "good.yaml", "bad.yaml", "--book", "book.json"]);
    let failed = "bad.yaml: 1 passed, 1 failed\n  FAILED the tower is seen\n         \
                  expected `The tower` fires: none of its keys was found\n         \
                  expected `The mill` fires: no entry is called `The mill`\n  \
                  ok     the bell rings\n";
    assert_eq!(both, (Some(1), format!("{passed}{failed}"), String::new()));
    let (status, json, _) = told(&["test", "bad.yaml", "--book", "book.json", "--json"]);
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((status, &json["failed"]), (Some(1), &1.into()));
    let failure = &json["tests"][0]["checks"][0]["failure"];
    assert_eq!(failure["verdict"]["outcome"]["code"], "no_key_found");
    for (arguments, error) in [
        (&["test", "odd.yaml", "--book", "book.json"][..], "a file of tests must be YAML"),
        (&["test", "good.yaml"], "name the lore to test with `--book FILE` or `--vault DIR`"),
    ] {
        let (status, text, found) = told(arguments);
        assert_eq!((status, text.as_str()), (Some(2), ""), "{found}");
        assert!(found.contains(error), "{found}");
    }
}
