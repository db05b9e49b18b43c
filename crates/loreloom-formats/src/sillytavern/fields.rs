//! The fields of an entry by their names in the file.

use crate::json::Node;

macro_rules! fields {
    ($($field:ident = $name:literal),+ $(,)?) => {
        /// A field that this version of the program knows.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Field { $($field),+ }

        impl Field {
            /// How many there are.
            const COUNT: usize = [$(Self::$field),+].len();

            /// The field of that name.
            pub(crate) fn from_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$field),)+ _ => None }
            }

            /// Its name in the file.
            pub(crate) fn name(self) -> &'static str {
                match self { $(Self::$field => $name),+ }
            }
        }
    };
}

fields! {
    Uid = "uid",
    Key = "key",
    KeySecondary = "keysecondary",
    Comment = "comment",
    Content = "content",
    Constant = "constant",
    Vectorized = "vectorized",
    Selective = "selective",
    SelectiveLogic = "selectiveLogic",
    AddMemo = "addMemo",
    Order = "order",
    Position = "position",
    Disable = "disable",
    IgnoreBudget = "ignoreBudget",
    ExcludeRecursion = "excludeRecursion",
    PreventRecursion = "preventRecursion",
    DelayUntilRecursion = "delayUntilRecursion",
    MatchPersonaDescription = "matchPersonaDescription",
    MatchCharacterDescription = "matchCharacterDescription",
    MatchCharacterPersonality = "matchCharacterPersonality",
    MatchCharacterDepthPrompt = "matchCharacterDepthPrompt",
    MatchScenario = "matchScenario",
    MatchCreatorNotes = "matchCreatorNotes",
    Probability = "probability",
    UseProbability = "useProbability",
    Depth = "depth",
    OutletName = "outletName",
    Group = "group",
    GroupOverride = "groupOverride",
    GroupWeight = "groupWeight",
    ScanDepth = "scanDepth",
    CaseSensitive = "caseSensitive",
    MatchWholeWords = "matchWholeWords",
    UseGroupScoring = "useGroupScoring",
    AutomationId = "automationId",
    Role = "role",
    Sticky = "sticky",
    Cooldown = "cooldown",
    Delay = "delay",
    Triggers = "triggers",
    CharacterFilter = "characterFilter",
    DisplayIndex = "displayIndex",
}

/// The known fields of one entry.
pub(crate) struct KnownField<'tree, 'text> {
    slots: [Option<&'tree Node<'text>>; Field::COUNT],
}

impl<'tree, 'text> KnownField<'tree, 'text> {
    /// Sorts the members into known fields; of a duplicate name the last counts.
    pub(crate) fn of(entry: &'tree Node<'text>) -> Self {
        let mut slots = [None; Field::COUNT];
        for member in entry.members() {
            if let Some(field) = Field::from_name(&member.key) {
                slots[field as usize] = Some(&member.value);
            }
        }
        Self { slots }
    }

    pub(crate) fn get(&self, field: Field) -> Option<&'tree Node<'text>> {
        self.slots[field as usize]
    }
}
