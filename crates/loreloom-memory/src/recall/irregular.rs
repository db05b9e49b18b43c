//! Irregular forms of English words.
//!
//! A question about what a person *bought* must find the message in which they *buy* it. Forms that
//! are often another word ("rose", "wound", "bound") are not listed.

/// Forms and their base words, sorted.
#[rustfmt::skip]
const FORMS: &[(&str, &str)] = &[
    ("ate", "eat"), ("became", "become"), ("began", "begin"), ("begun", "begin"), ("bit", "bite"),
    ("bitten", "bite"), ("bled", "bleed"), ("blew", "blow"), ("blown", "blow"), ("bought", "buy"),
    ("broke", "break"), ("broken", "break"), ("brought", "bring"), ("built", "build"),
    ("burnt", "burn"), ("came", "come"), ("caught", "catch"), ("children", "child"),
    ("chose", "choose"), ("chosen", "choose"), ("clung", "cling"), ("crept", "creep"),
    ("dealt", "deal"), ("drank", "drink"), ("drawn", "draw"), ("dreamt", "dream"),
    ("drew", "draw"), ("driven", "drive"), ("drove", "drive"), ("drunk", "drink"), ("dug", "dig"),
    ("eaten", "eat"), ("fallen", "fall"), ("fed", "feed"), ("feet", "foot"), ("fell", "fall"),
    ("felt", "feel"), ("fled", "flee"), ("flew", "fly"), ("flown", "fly"), ("flung", "fling"),
    ("forgot", "forget"), ("forgotten", "forget"), ("fought", "fight"), ("found", "find"),
    ("froze", "freeze"), ("frozen", "freeze"), ("gave", "give"), ("geese", "goose"),
    ("given", "give"), ("gone", "go"), ("got", "get"), ("gotten", "get"), ("grew", "grow"),
    ("grown", "grow"), ("heard", "hear"), ("held", "hold"), ("hid", "hide"), ("hidden", "hide"),
    ("hung", "hang"), ("kept", "keep"), ("knelt", "kneel"), ("knew", "know"), ("knives", "knife"),
    ("known", "know"), ("laid", "lay"), ("leapt", "leap"), ("learnt", "learn"), ("led", "lead"),
    ("left", "leave"), ("lent", "lend"), ("lit", "light"), ("lives", "life"), ("lost", "lose"),
    ("made", "make"), ("meant", "mean"), ("men", "man"), ("met", "meet"), ("mice", "mouse"),
    ("paid", "pay"), ("people", "person"), ("ran", "run"), ("rang", "ring"), ("ridden", "ride"),
    ("risen", "rise"), ("rode", "ride"), ("rung", "ring"), ("said", "say"), ("sang", "sing"),
    ("sank", "sink"), ("sat", "sit"), ("saw", "see"), ("seen", "see"), ("sent", "send"),
    ("shaken", "shake"), ("shone", "shine"), ("shook", "shake"), ("shot", "shoot"),
    ("shown", "show"), ("shrank", "shrink"), ("slain", "slay"), ("slept", "sleep"),
    ("slew", "slay"), ("slid", "slide"), ("sold", "sell"), ("sought", "seek"), ("spent", "spend"),
    ("spoke", "speak"), ("spoken", "speak"), ("sprang", "spring"), ("spun", "spin"),
    ("stole", "steal"), ("stolen", "steal"), ("stood", "stand"), ("struck", "strike"),
    ("stuck", "stick"), ("stung", "sting"), ("sung", "sing"), ("sunk", "sink"), ("swam", "swim"),
    ("swept", "sweep"), ("swore", "swear"), ("sworn", "swear"), ("swum", "swim"),
    ("swung", "swing"), ("taken", "take"), ("taught", "teach"), ("teeth", "tooth"),
    ("thieves", "thief"), ("thought", "think"), ("threw", "throw"), ("thrown", "throw"),
    ("told", "tell"), ("took", "take"), ("tore", "tear"), ("torn", "tear"),
    ("understood", "understand"), ("went", "go"), ("wept", "weep"), ("wives", "wife"),
    ("woke", "wake"), ("woken", "wake"), ("wolves", "wolf"), ("women", "woman"), ("won", "win"),
    ("wore", "wear"), ("worn", "wear"), ("wove", "weave"), ("woven", "weave"),
    ("written", "write"), ("wrote", "write"),
];

/// The base word of a lower-case form; the form itself if it is regular.
pub(super) fn regular(form: &str) -> &str {
    FORMS.binary_search_by_key(&form, |(form, _)| form).map_or(form, |at| FORMS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_sorted_for_the_search_and_lead_to_a_regular_word() {
        assert!(FORMS.is_sorted());
        for (form, word) in FORMS {
            assert_eq!((regular(form), regular(word)), (*word, *word));
        }
        assert_eq!(regular("rose"), "rose");
    }
}
