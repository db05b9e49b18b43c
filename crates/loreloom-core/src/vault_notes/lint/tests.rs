use super::*;

#[test]
fn a_circle_of_any_length_is_named_once() {
    let note = |title: &str, requires: &str| {
        let mut note = Note::new("", title, title);
        note.content = "x".to_owned();
        note.keys = vec!["key of it".to_owned() + title];
        note.relations.requires = vec![requires.to_owned()];
        note
    };
    let notes = [note("C", "a"), note("A", "B"), note("B", "C"), note("D", "A")];
    let issues = inspect(&notes, &VaultRules::default());
    let circle = ["A", "B", "C"].map(str::to_owned).to_vec();
    let expected = Issue { title: "A".to_owned(), kind: IssueKind::CircularRequires { circle } };
    assert_eq!(issues, [expected]);
}

#[test]
fn excluding_what_is_forced_in_is_told_by_when_it_is() {
    let note = |title: &str| {
        let mut note = Note::new("", title, title);
        note.content = "x".to_owned();
        note.keys = vec![format!("key of {title}")];
        note
    };
    let (mut always, mut first, mut free) = (note("Always"), note("First"), note("Free"));
    always.kind.constant = true;
    first.kind.bootstrap = true;
    free.relations.excludes = vec!["always".to_owned(), "First".to_owned()];
    let issues = inspect(&[always, first, free], &VaultRules::default());
    let title = "Free".to_owned();
    let kinds = [
        IssueKind::ExcludesConstant { title: "always".to_owned() },
        IssueKind::ExcludesBootstrap { title: "First".to_owned() },
    ];
    assert_eq!(issues, kinds.map(|kind| Issue { title: title.clone(), kind }));
}

#[test]
fn titles_that_differ_in_case_are_one_title_except_to_deeplore() {
    let note = |title: &str, cascade: &[&str]| {
        let mut note = Note::new("", title, title);
        (note.content, note.keys) = ("x".to_owned(), vec![format!("key of {cascade:?}")]);
        note.relations.cascade = cascade.iter().map(|title| (*title).to_owned()).collect();
        note
    };
    let notes = [note("Hall", &[]), note("hall", &["HALL"])];
    let issue = |title: &str, kind| Issue { title: title.to_owned(), kind };
    let ours = [issue("Hall", IssueKind::DuplicateTitle)];
    let theirs = [issue("hall", IssueKind::UnknownCascade { title: "HALL".to_owned() })];
    assert_eq!(inspect(&notes, &VaultRules::default()), ours);
    assert_eq!(inspect(&notes, &VaultRules::deeplore_2()), theirs);
}

#[test]
fn recursion_needs_keys() {
    let mut note = Note::new("", "A", "A");
    (note.content, note.kind.constant) = ("x".to_owned(), true);
    let mut using = VaultUse::default();
    using.rules.keys.names = false;
    assert_eq!(inspect_use(&[note.clone()], &using), []);
    using.rules.recursion.enabled = true;
    let issue = Issue { title: String::new(), kind: IssueKind::RecursionWithoutKeys };
    assert_eq!(inspect_use(&[note.clone()], &using), [issue]);
    note.keys = vec!["bell".to_owned()];
    assert_eq!(inspect_use(&[note], &using), []);
}

#[test]
fn what_the_engine_can_bring_in_is_not_out_of_reach() {
    let note = |title: &str| {
        let mut note = Note::new("", title, title);
        note.content = "x".to_owned();
        note
    };
    let (mut bell, mut law) = (note("Bell"), note("Law"));
    bell.keys = vec!["bell".to_owned()];
    bell.relations.cascade = vec!["Tower".to_owned()];
    bell.relations.links = vec!["Rope".to_owned()];
    law.kind.constant = true;
    law.relations.requires = vec!["Nobody".to_owned()];
    law.probability = Some(0.0);
    let notes = [bell, note("Tower"), note("Rope"), law, note("Alone")];
    let mut using = VaultUse::default();
    using.rules.keys.names = false;
    let found = |using: &VaultUse| -> Vec<(String, IssueKind)> {
        let issues = inspect_use(&notes, using).into_iter();
        let issues = issues.filter(|issue| issue.kind != IssueKind::NoSummary);
        issues.map(|issue| (issue.title, issue.kind)).collect()
    };
    let no_keys = |title: &str| (title.to_owned(), IssueKind::NoKeys);
    let idle = ("Law".to_owned(), IssueKind::IdleRequires { title: "Nobody".to_owned() });
    assert_eq!(found(&using), [no_keys("Rope"), idle.clone(), no_keys("Alone")]);
    assert_eq!(idle.1.severity(), Severity::Hint);
    // A model may choose what is linked, or everything.
    using.selection = Some(SelectionRules::default());
    assert_eq!(found(&using), [idle.clone(), no_keys("Alone")]);
    let from = crate::dialects::vault::SelectFrom::Vault;
    using.selection = Some(SelectionRules { from, ..SelectionRules::default() });
    assert_eq!(found(&using), std::slice::from_ref(&idle));
    (using.selection, using.rules.keys.names) = (None, true);
    assert_eq!(found(&using), [idle]);
}

#[test]
fn keys_of_a_guide_are_shared_with_nobody() {
    let note = |title: &str, guide: bool| {
        let mut note = Note::new("", title, title);
        (note.content, note.keys) = ("x".to_owned(), vec!["bell".to_owned()]);
        note.kind.guide = guide;
        note
    };
    let rules = VaultRules::default();
    assert_eq!(inspect(&[note("A", false), note("B", true)], &rules), []);
    assert_eq!(inspect(&[note("A", false), note("B", false)], &rules).len(), 2);
}
