//! The plot: what is said in each of 150 exchanges, what a model would note of it, and what
//! must and must not be in the prompt of some of them.
//!
//! Ines keeps a lighthouse with Mara and has dealings with Tobin, the harbour clerk. Facts
//! are told once and needed two hundred messages later, some change in between, and each of
//! the two tells Ines what the other must not know.

/// How many exchanges the story has; each is two messages.
pub(super) const EXCHANGES: usize = 150;

/// Something that happens in one exchange.
pub(super) struct Beat {
    pub(super) at: usize,
    pub(super) speaker: &'static str,
    pub(super) says: &'static str,
    pub(super) reply: &'static str,
}

const fn beat(at: usize, speaker: &'static str, says: &'static str, reply: &'static str) -> Beat {
    Beat { at, speaker, says, reply }
}

pub(super) const BEATS: &[Beat] = &[
    beat(
        2,
        "Mara",
        "My sister Nell was born on Carrow, in the year of the red comet.",
        "Then Nell has salt in her blood, Ines.",
    ),
    beat(
        4,
        "Mara",
        "The ferry to Skell leaves at dawn, they told me.",
        "I shall be on the quay before the gulls.",
    ),
    beat(
        7,
        "Mara",
        "What is wrong with the fresh rope?",
        "I cannot bear the smell of tar. It makes me ill.",
    ),
    beat(
        9,
        "Tobin",
        "Tobin, how are the books?",
        "I am the clerk of this harbour and I count nine barrels of lamp oil in the cellar.",
    ),
    beat(
        12,
        "Mara",
        "You and Tobin do not speak?",
        "Tobin and I are quarrelling over the lamp oil.",
    ),
    beat(
        20,
        "Mara",
        "Later that night we sit alone by the stove. What troubles you?",
        "Swear to be silent. I forged the lease of the mill.",
    ),
    beat(
        21,
        "Mara",
        "You forged it? With whose seal?",
        "With the seal of the drowned notary. Tobin must never learn of it.",
    ),
    beat(
        30,
        "Tobin",
        "The next morning I find you at the harbour office, Tobin.",
        "Good morning. The mill's lease runs out in spring, I hear.",
    ),
    beat(
        45,
        "Mara",
        "Have you and Tobin made peace?",
        "We have. Tobin and I are no longer quarrelling over the lamp oil.",
    ),
    beat(
        58,
        "Mara",
        "The harbour master changed the tables: the ferry to Skell now leaves at dusk.",
        "Dusk, then. I shall sleep longer.",
    ),
    beat(
        70,
        "Tobin",
        "The next evening we walk alone on the mole, Tobin. Speak.",
        "I sold the tide charts to the garrison, Ines. Mara would kill me.",
    ),
    beat(71, "Tobin", "For how much?", "For forty silver marks. Not a word of it to Mara."),
    beat(
        82,
        "Mara",
        "Two days later I am back at the lamp, Mara.",
        "The lens is clean. You look tired.",
    ),
    beat(
        95,
        "Tobin",
        "And the barrels, Tobin?",
        "The cellar flooded. There are only two barrels of lamp oil in the cellar now.",
    ),
];

/// An exchange at which something is asked that was told long ago.
pub(super) struct Asked {
    pub(super) at: usize,
    pub(super) speaker: &'static str,
    pub(super) says: &'static str,
    /// What must be in the prompt.
    pub(super) needed: &'static [&'static str],
    /// What Loreloom must not add to it.
    pub(super) kept_out: &'static [&'static str],
}

/// What must never be added to a prompt of this character, until it is told.
pub(super) const SECRETS: &[(&str, &[&str], usize)] = &[
    ("Tobin", &["forged", "drowned notary"], 132),
    ("Mara", &["tide charts", "garrison", "forty silver"], EXCHANGES),
];

pub(super) const QUESTIONS: &[Asked] = &[
    Asked {
        at: 50,
        speaker: "Mara",
        says: "Are you still quarrelling with Tobin about the lamp oil, or is there peace?",
        needed: &["no longer quarrelling"],
        kept_out: &["are quarrelling"],
    },
    Asked {
        at: 62,
        speaker: "Tobin",
        says: "Tobin, what do you know of the lease of the mill?",
        needed: &[],
        kept_out: &["forged", "notary"],
    },
    Asked {
        at: 90,
        speaker: "Mara",
        says: "Mara, did you ever see the tide charts again?",
        needed: &[],
        kept_out: &["garrison", "sold", "silver marks"],
    },
    Asked {
        at: 105,
        speaker: "Mara",
        says: "Where was my sister Nell born? Do you remember?",
        needed: &["Carrow"],
        kept_out: &["garrison"],
    },
    Asked {
        at: 108,
        speaker: "Mara",
        says: "When does the ferry to Skell leave?",
        needed: &["now leaves at dusk"],
        kept_out: &["leaves at dawn"],
    },
    Asked {
        at: 111,
        speaker: "Mara",
        says: "Shall we rub the fresh rope with tar?",
        needed: &["smell of tar"],
        kept_out: &[],
    },
    Asked {
        at: 114,
        speaker: "Tobin",
        says: "How many barrels of lamp oil are in the cellar, Tobin?",
        needed: &["two barrels"],
        kept_out: &["nine barrels", "forged"],
    },
    Asked {
        at: 120,
        speaker: "Mara",
        says: "Under whose seal did you write the lease of the mill, Mara?",
        needed: &["notary"],
        kept_out: &["garrison"],
    },
    Asked {
        at: 124,
        speaker: "Tobin",
        says: "Who wrote the lease of the mill, do you think, Tobin?",
        needed: &[],
        kept_out: &["forged", "notary"],
    },
    Asked {
        at: 145,
        speaker: "Tobin",
        says: "Who forged the lease of the mill, Tobin?",
        needed: &["Mara forged the lease"],
        kept_out: &[],
    },
];

/// Mara confesses to Tobin: from here on it is no secret.
pub(super) const CONFESSION: &[Beat] = &[
    beat(
        131,
        "Mara",
        "The following evening we three meet in the office. Tell him, Mara.",
        "Tobin, hear me: I forged the lease of the mill. I am sorry.",
    ),
    beat(
        132,
        "Tobin",
        "Say something, Tobin.",
        "So it was you who forged it. I shall not tell the council.",
    ),
    beat(139, "Tobin", "The next morning the rain has stopped.", "The harbour smells of wet wood."),
];

/// What a model notes where a text holds a mark.
pub(super) struct Note {
    /// `long_term`, `session`, `knows` or `arcs`.
    pub(super) tier: &'static str,
    /// Whose long-term memory.
    pub(super) of: &'static str,
    pub(super) mark: &'static str,
    pub(super) line: &'static str,
}

const fn note(
    tier: &'static str,
    of: &'static str,
    mark: &'static str,
    line: &'static str,
) -> Note {
    Note { tier, of, mark, line }
}

pub(super) const NOTES: &[Note] = &[
    note(
        "long_term",
        "Mara",
        "born on Carrow",
        "[fact:3:permanent:entity=Nell/character,Carrow/place] Nell, the sister of Ines, was born on Carrow",
    ),
    note(
        "long_term",
        "Mara",
        "leaves at dawn",
        "[fact:2:permanent:entity=Skell/place] The ferry to Skell leaves at dawn",
    ),
    note(
        "long_term",
        "Mara",
        "now leaves at dusk",
        "[fact:2:permanent:entity=Skell/place] The ferry to Skell now leaves at dusk",
    ),
    note(
        "long_term",
        "Mara",
        "cannot bear the smell",
        "[preference:2:permanent:entity=Mara/character] Mara cannot bear the smell of tar",
    ),
    note(
        "long_term",
        "Tobin",
        "nine barrels",
        "[fact:2:permanent] The cellar holds nine barrels of lamp oil",
    ),
    note(
        "long_term",
        "Tobin",
        "only two barrels",
        "[fact:2:permanent] The cellar now holds only two barrels of lamp oil",
    ),
    note(
        "long_term",
        "Mara",
        "I forged the lease",
        "[event:3:permanent:entity=Mara/character] Mara forged the lease of the mill with the seal of the drowned notary",
    ),
    note(
        "long_term",
        "Tobin",
        "sold the tide charts",
        "[event:3:permanent:entity=Tobin/character] Tobin sold the tide charts to the garrison for forty silver marks",
    ),
    note(
        "session",
        "",
        "Tobin and I are quarrelling",
        "[development:2:session:entity=Mara,Tobin] Mara and Tobin are quarrelling over the lamp oil",
    ),
    note(
        "session",
        "",
        "no longer quarrelling",
        "[development:2:session:entity=Mara,Tobin] Mara and Tobin are no longer quarrelling over the lamp oil",
    ),
    note(
        "session",
        "",
        "I forged the lease",
        "[revelation:3:session:entity=Mara] Mara forged the lease of the mill",
    ),
    note(
        "session",
        "",
        "sold the tide charts",
        "[revelation:3:session:entity=Tobin] Tobin sold the tide charts to the garrison",
    ),
    note(
        "arcs",
        "",
        "I forged the lease",
        "[arc] Will anybody find out that Mara forged the lease of the mill?",
    ),
    note(
        "arcs",
        "",
        "sold the tide charts",
        "[arc] What will the garrison do with the tide charts that Tobin sold?",
    ),
    note(
        "knows",
        "",
        "Tobin must never learn",
        "[hiding] Mara from Tobin | Mara forged the lease of the mill with the seal of the drowned notary\n\
         [knows] Ines | Mara forged the lease of the mill\n\
         [unaware] Tobin | Mara forged the lease of the mill",
    ),
    note(
        "knows",
        "",
        "Not a word of it to Mara",
        "[hiding] Tobin from Mara | Tobin sold the tide charts to the garrison for forty silver marks\n\
         [unaware] Mara | Tobin sold the tide charts to the garrison",
    ),
    note(
        "knows",
        "",
        "So it was you who forged it",
        "[knows] Tobin | Mara forged the lease of the mill with the seal of the drowned notary",
    ),
];
