//! Scenes and notebooks changed by hand leave the story where it is.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::run::{printed, write};

/// A stored chat of five messages, which ends with the user's.
fn home() -> TempDir {
    let home = TempDir::new().unwrap();
    let said = [
        ("user", "I hear a bell."),
        ("assistant", "It is cracked."),
        ("user", "And the tower?"),
        ("assistant", "It leans."),
        ("user", "Let us go."),
    ];
    let said = said.map(|(role, text)| json!({ "role": role, "content": text }));
    write(home.path(), "chat.json", &json!({ "messages": said }).to_string());
    printed(home.path(), &["import", "chat.json", "--chat", "tale", "--data", "data"]);
    home
}

fn over(home: &Path, arguments: &[&str]) -> String {
    printed(home, &[arguments, &["--data", "data"]].concat())
}

/// What `tree`, `show` and `chats` say of the story, without the turns on its messages.
fn told(home: &Path) -> (String, String, Value) {
    let chats: Value = serde_json::from_str(&over(home, &["chats", "--json"])).unwrap();
    let place = json!([chats[0]["chat"]["tip"], chats[0]["messages"]]);
    let show = over(home, &["show", "tale"]);
    let show: String = show.lines().filter(|line| !line.starts_with("  turn ")).collect();
    (over(home, &["tree", "tale", "--all"]), show, place)
}

#[test]
fn changes_by_hand_are_shown_as_such() {
    let home = home();
    let home = home.path();
    over(home, &["scene", "tale", "--scene", "era=old"]);
    let show = over(home, &["show", "tale"]);
    let turns: Vec<&str> = show.lines().filter(|line| line.starts_with("  turn ")).collect();
    assert_eq!(turns, ["  turn 1, edit: noted"]);
}

#[test]
fn changes_of_the_scene_leave_the_path_and_the_last_holds() {
    let home = home();
    let home = home.path();
    let before = told(home);
    assert_eq!(before.2[1], 5);
    let scene = |arguments: &[&str]| -> Value {
        let told = over(home, &[&["scene", "tale"], arguments].concat());
        serde_json::from_str(&told).unwrap()
    };
    scene(&["--scene", "era=old", "--pin", "Tower"]);
    assert_eq!(told(home).2, before.2);
    scene(&["--scene", "era=new", "--scene", "location=quay"]);
    assert_eq!(told(home).2, before.2);
    let now = scene(&[]);
    assert_eq!(now["context"], json!({ "era": "new", "location": "quay" }));
    assert_eq!(now["pins"][0]["title"], "Tower");
    let cleared = scene(&["--clear"]);
    assert_eq!(scene(&[]), cleared);
    assert_eq!(cleared["context"], Value::Null, "{cleared}");
    scene(&["--scene", "era=late"]);
    assert_eq!(scene(&[])["context"], json!({ "era": "late" }));
    let after = told(home);
    assert_eq!(after.2, before.2);
    assert_eq!(after.1, before.1);
    assert_eq!(after.0.lines().count(), before.0.lines().count(), "{}", after.0);
}

#[test]
fn notebooks_written_again_and_again_leave_the_path_and_the_last_holds() {
    let home = home();
    let home = home.path();
    let before = told(home);
    for (which, expected) in [(&[][..], "Slow burn.\nNo dragons."), (&["--ai"], "Two.\nThree.")] {
        let (kept, added) = expected.split_once('\n').unwrap();
        let notebook = |deed: &str, text: &str| {
            over(home, &[&["notebook", deed, "tale", "--text", text], which].concat());
            assert_eq!(told(home).2, before.2, "{deed} {text}");
        };
        notebook("write", "Fast.");
        notebook("write", kept);
        notebook("add", added);
        let shown = over(home, &[&["notebook", "show", "tale"], which].concat());
        assert_eq!(shown, format!("{expected}\n"));
    }
    // The one does not change the other.
    assert_eq!(over(home, &["notebook", "show", "tale"]), "Slow burn.\nNo dragons.\n");
    assert_eq!(told(home).1, before.1);
}
