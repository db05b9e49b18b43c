//! The order of titles: that of the Unicode root collation.
//!
//! DeepLore sorts in this order too, and the order decides what a full budget leaves out. The
//! table is ICU's own; `docs/design/040-title-order.md` has its cost.

use icu_collator::{CollatorBorrowed, options::CollatorOptions};

/// The order of all languages without rules of their own, English among them.
static ROOT: CollatorBorrowed<'static> = {
    let options = CollatorOptions::default();
    CollatorBorrowed::new_root(options)
};

/// A title, ready to be compared many times. Titles that differ only in invisible characters,
/// such as control characters, are equal.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TitleOrder(Vec<u8>);

impl TitleOrder {
    /// The order of a title.
    pub(crate) fn of(title: &str) -> Self {
        let mut key = Vec::new();
        let Ok(()) = ROOT.write_sort_key_to(title, &mut key);
        Self(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_sort_by_letter_then_accent_then_case() {
        let expected = [
            "_draft",
            "- list",
            "—dash",
            "…and",
            "'Tis",
            "’Tis",
            "“Quoted”",
            "[x]",
            "#1",
            "$5",
            "10 Bells",
            "2 Bells",
            "Æther",
            "alpha",
            "Alpha",
            "älpha",
            "alpha 2",
            "alphabet",
            "Bell",
            "beta",
            "Đorđe",
            "Écu",
            "edict",
            "ﬀ",
            "Ⅳ",
            "Łódź",
            "Mott",
            "Ørn",
            "Strasse",
            "Straße",
            "Strat",
            "zed",
            "Zed",
            "Ω",
            "Яга",
            "鐘",
        ];
        let mut keyed = expected.to_vec();
        keyed.reverse();
        keyed.sort_by_key(|title| TitleOrder::of(title));
        assert_eq!(keyed, expected);
        assert_eq!(TitleOrder::of("a\0"), TitleOrder::of("a"));
    }
}
