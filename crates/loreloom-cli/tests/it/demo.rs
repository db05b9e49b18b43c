//! `loreloom demo`.

use tempfile::TempDir;

use crate::run::printed;

#[test]
fn the_demo_tells_its_story_and_ends() {
    let home = TempDir::new().unwrap();
    let text = printed(home.path(), &["demo", "--exit", "--port", "0"]);
    assert_eq!(text.matches("── turn ").count(), 8, "{text}");
    for (turn, woven) in [
        (1, "+ The causeway         “causeway” in message 2, by Mira; before the character"),
        (
            1,
            "+ Bell Harrow          “Bell Harrow” in the text of The causeway; before the character",
        ),
        (3, "+ The brass whistle    “whistle” in message 6, by Mira; in the chat at depth 2"),
        (
            4,
            "+ The brass whistle    fired before and stays until message 9; in the chat at depth 2",
        ),
        (6, "- Rumour of gold       rolled "),
        (7, "+ The lamp oil debt    “debt” in message 14, by Mira; before the character"),
    ] {
        let part = text.split("── turn ").nth(turn).unwrap();
        assert!(part.contains(woven), "turn {turn} lacks {woven}\n{text}");
    }
    let last = text.split("What next?\n").nth(1).unwrap_or_default();
    let install = "  Install the command:  cargo install --locked --path crates/loreloom-cli\n";
    assert!(last.starts_with(install), "{text}");
    assert_eq!(
        text,
        printed(home.path(), &["demo", "--exit", "--port", "0"]),
        "not the same twice"
    );
}
