//! What a turn asks for.
//!
//! The patterns are word lists, so they know only some languages. In others a turn is a question
//! if it has a question mark, and nothing more is known.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::{pattern, sentences};

macro_rules! patterns {
    ($($name:ident = $($part:literal)+;)+) => {
        $(static $name: LazyLock<Regex> = LazyLock::new(|| pattern(concat!($($part),+)));)+
    };
}

patterns! {
    QUESTION =
        r"(?i)[?？]|^\W*(?:(?:(?-i:\p{Lu}\w+)|so|and|but|ok|okay|hey|oh|well|wait)\W+)?(?:who|whose|whom|what|when|where|which|why|how|did|was|were|tell me|"
        r"remind me|describe|show me|wer|was|wann|wo|welche[rsnm]?|warum|wie|qui|quand|où|"
        r"pourquoi|comment|quién|qué|cuándo|dónde|por qué|cómo|quem|quando|onde|como|chi|dove|"
        r"perché|кто|что|когда|где|почему|как|kto|kiedy|gdzie|dlaczego|jak)\b|[か吗呢]\s*$";
    PAST =
        r"(?i)\b(?:did|didn't|was|wasn't|were|had|hadn't|again|remember|remind|back then|"
        r"originally|used to|earlier|told|said|gave|\w{3,}ed|became|began|bought|broke|brought|came|"
        r"fell|found|got|heard|held|hid|kept|knew|left|lost|made|met|paid|ran|saw|sent|sold|stole|"
        r"swore|taught|thought|threw|took|went|wore|won|wrote|"
        r"war|waren|hatte|hatten|hattest|hast|wurde|wurden|damals|noch ?mal|erinner\w*|"
        r"était|étaient|avait|avaient|a-t-(?:il|elle|on)|as-tu|avez-vous|rappelle\w*|"
        r"era|eran|fue|fueron|había|habían|dijo|hizo|pasó|recuerd\w*|"
        r"foi|foram|tinha|tinham|disse|fez|lembra\w*|"
        r"erano|aveva|avevano|ricord\w*|"
        r"был[аои]?|помнишь|сказал[аи]?|случилось|тогда|"
        r"był[aoy]?|byli|miał[ao]?|pamiętasz|powiedział[a]?)\b|[たっ]た?(?:の|ん)?(?:です)?か|"
        r"だった|ました|覚えて|当时|记得|来着|[了过][吗呢？?]|了什么|过什么";
    SEEKS =
        r"(?i)\b(?:who|whose|whom|what|when|where|which|why|how|tell me|remind me|describe|"
        r"wer|wen|wem|wessen|was|wann|wo|wohin|woher|wo(?:r|m|f|d|v|b|n|z)\w+|welche\w*|warum|wie|"
        r"qui|que|quoi|quand|où|pourquoi|comment|combien|quel\w*|"
        r"quién\w*|qué|cuál\w*|cuándo|cuánt\w+|dónde|cómo|"
        r"quem|quando|onde|como|qual|quais|quant\w+|chi|che|cosa|dove|perché|quale|quali|"
        r"кто|кого|кому|кем|что|чего|чем|когда|где|куда|откуда|почему|зачем|как|как(?:ой|ая|ие|ого|ую)|"
        r"сколько|kto|kogo|komu|co|czego|czym|kiedy|gdzie|skąd|dlaczego|jak|jak[ia]\w*|któr\w+|ile|"
        r"czyj\w*)\b|何|誰|どこ|いつ|なぜ|どうして|どの|どっち|什么|谁|哪|为何|多少|"
        r"무엇|무슨|누구|누가|어디|언제|왜|얼마|몇|어느";
    IDLE =
        r"(?i)^\W*(?:(?:so|well|and|but|oh|hey|sorry)\W+)*(?:shall|should|may i|can (?:i|you|we)|"
        r"could (?:i|you|we)|will you|would you|do you (?:want|mind|need)|want to|how about|"
        r"what about|how are|how do you (?:do|feel)|how(?:'s| is) (?:it|everything) going|"
        r"what do you (?:think|say|mean|want)|did you sleep|(?:what|where) (?:should|shall)|what's up|what an?|why don't you|why not|"
        r"wollen wir|sollen wir|willst du|möchtest du|kannst du|wie geht|was meinst|was hältst|"
        r"was denkst|comment (?:vas|allez|ça)|qu'en penses|tu veux|veux-tu|voulez-vous|"
        r"qué tal|cómo est|qué (?:piensas|te parece|opinas)|quieres|"
        r"como (?:est|vai)|o que achas|queres|come (?:stai|va|state)|che ne (?:pensi|dici)|vuoi|"
        r"как (?:ты|дела|вы)|что (?:ты )?думаешь|хочешь|jak się|co (?:o tym )?myślisz|chcesz)\b|"
        r"怎么样|怎么看|どう思|元気";
    AT_HAND =
        r"(?i)\b(?:tonight|tomorrow|right now|at the moment|just (?:say|said|now)|these days|"
        r"(?:that|this) (?:noise|sound|smell)|"
        r"did you (?:just )?(?:hear|see|feel|smell|notice) (?:that|this|it|the|anything)|"
        r"(?:what|who|where|why) (?:are|am|is|'re) (?:you|i|we|it|there)(?: \w+ing)?\b|what did you (?:say|call)|"
        r"(?:where|when|which|what|how|who|why)(?: \w+)?(?: \w+)? (?:can|may|shall|should|do|must) (?:i|we)|"
        r"(?:when|how long|what) (?:will|until|'ll)|(?:when|how long) does (?:it|this|the \w+ (?:start|open|close|leave|arrive|begin|end))|(?:when|how far|how long|how much|how many) (?:is|are|until) (?:it|the|a|an|there)|"
        r"how (?:do|does) (?:you|one|it|this|that)|(?:what|which) (?:time|day|year|way) is|what(?:'s| is) (?:the time|for \w+)|"
        r"who (?:wants|needs) (?:a|an|any|some|more|another|to (?:go|come|play|try|see))|who is calling|"
        r"have you ever|would you (?:rather|like|do)|how was your|did you (?:miss|sleep)|your favou?rite|(?:anyone|anybody|you) got (?:a|an|any|some)|"
        r"(?:what|who|which|where|when|how)(?: \w+)?(?: \w+)? do you (?:think|like|love|want|need|miss|feel|prefer)|"
        r"have you (?:seen|heard) the|"
        r"heute abend|heute nacht|morgen früh|gerade eben|hast du (?:das|etwas) (?:gehört|gesehen)|wie spät|"
        r"wo (?:kann|darf|soll|muss) (?:ich|man)|was (?:machst|tust|kochst|liest) du|was ist das|was gibt es|"
        r"ce soir|demain|tout de suite|quelle heure|tu as (?:entendu|vu) ça|où (?:puis-je|est-ce que je)|qu'est-ce que tu fais|"
        r"esta noche|ahora mismo|qué hora|has (?:oído|visto) eso|oíste eso|dónde (?:puedo|debo)|qué (?:haces|estás|es eso)|"
        r"esta noite|agora mesmo|que horas|ouviste isso|onde (?:posso|devo)|o que (?:fazes|está|é isso)|"
        r"stasera|domani|adesso|che ore|hai (?:sentito|visto)|dove posso|cosa (?:fai|stai)|"
        r"сегодня вечером|завтра|сейчас|который час|ты (?:слышал|слышала|видел|видела)|где мне|что (?:это|ты делаешь)|"
        r"dziś wieczorem|jutro|teraz|która godzina|słyszał[ae]ś|gdzie mogę|co (?:robisz|to))\b|"
        r"\b(?:left|(?:what|who)(?: is| was|'s) (?:that|this|it))\W*$|"
        r"今夜|明日|何時|今何|聞こえた|今の音|何してる|今晚|明天|几点|现在|你听到|什么声音|在干什么|在做什么|오늘 밤|내일|지금|몇 시";
    AGAIN =
        r"(?i)\b(?:again|remember\w*|remind\w*|back then|noch ?mal|damals|erinner\w*|rappelle\w*|"
        r"déjà|recuerd\w*|lembra\w*|ricord\w*|помнишь|тогда|pamiętasz)\b|覚えて|记得|来着|기억";
    YOURS = r"(?i)\b(?:you|your|yours|yourself)\b";
    KNOWN =
        r"(?i)\b(?:the|that|this|those|these|such|she|he|they|it|her|his|him|them|their|its|"
        r"my|our|me|i|we|us|(?-i:\p{Lu}\p{Ll}+)'s)\b";
    TIME =
        r"(?i)^\W*(?:when|how\s+long|how\s+recently|"
        r"(?:in\s+)?(?:what|which)\s+(?:day|date|week|month|year|season))\b";
    NUMBER = r"(?i)\bhow\s+(?:many|much|old|often|far|long|big|tall)\b";
    PLACE =
        r"(?i)^\W*(?:where|(?:in |to |from )?(?:which|what) "
        r"(?:city|country|place|state|town|street|village|inn|room))\b";
    OWN =
        r"(?i)\b(?:i|i'm|i've|i'd|my|me|mine|myself|ich|mich|mir|mein\w*|je|moi|mon|mes|yo|"
        r"mi|mis|mí|eu|meu|minha|io|mio|mia|я|мне|меня|мой|моя|мою|mnie|mój|moja)\b|"
        r"[私僕俺我]";
    TELLS_NUMBER =
        r"(?i)\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozen|"
        r"hundred|thousand|once|twice|couple|half)\b";
    TELLS_PLACE = r"\b(?:in|at|to|from|near|on|into|around)\s+(?:the\s+)?\p{Lu}\p{Ll}+";
}

/// What a turn asks for.
#[expect(clippy::struct_excessive_bools, reason = "each is one independent sign in the words")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AskedFor {
    /// It is a question or a request to tell something.
    pub(super) question: bool,
    /// It wants to know something, and is no small talk and no offer.
    pub(super) seeks: bool,
    /// It is about something that happened.
    pub(super) past: bool,
    /// It asks for a time.
    pub(super) time: bool,
    /// It asks for a number.
    pub(super) number: bool,
    /// It asks for a place.
    pub(super) place: bool,
    /// It is about the one who asks.
    pub(super) own: bool,
    /// It is about the one who is asked.
    pub(super) yours: bool,
    /// It asks about something that both know: "the key", "she", "again".
    pub(super) refers: bool,
    /// It asks the other about themselves, as small talk does.
    pub(super) personal: bool,
}

impl AskedFor {
    pub(super) fn of(text: &str) -> Self {
        let text = &text.replace('\u{2019}', "'");
        let parts = sentences(text);
        let asking = || parts.iter().map(|part| part.trim()).filter(|part| QUESTION.is_match(part));
        let question = asking().next().is_some();
        let past = asking().any(|part| PAST.is_match(part));
        // What one sees, hears or does right now, and what one likes, is nothing that the story
        // could answer.
        let is_at_hand = |part: &str| AT_HAND.is_match(part) && !AGAIN.is_match(part);
        let seeks = |part: &str| {
            (SEEKS.is_match(part) || PAST.is_match(part))
                && !IDLE.is_match(part)
                && !is_at_hand(part)
        };
        let yours = question && YOURS.is_match(text);
        let again = AGAIN.is_match(text);
        let refers = |part: &str| seeks(part) && (again || !yours && KNOWN.is_match(part));
        let is_seeking = asking().any(seeks);
        Self {
            question,
            seeks: is_seeking,
            refers: asking().any(refers),
            personal: is_seeking && yours && !past && !again,
            yours,
            past,
            time: TIME.is_match(text),
            number: NUMBER.is_match(text),
            place: PLACE.is_match(text),
            own: question && OWN.is_match(text),
        }
    }
}

/// Whether a text has a number.
pub(super) fn tells_number(text: &str) -> bool {
    TELLS_NUMBER.is_match(text)
}

/// Whether a text names a place.
pub(super) fn tells_place(text: &str) -> bool {
    TELLS_PLACE.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_asks_for_what_its_words_say() {
        let asks = |text: &str| {
            let asks = AskedFor::of(text);
            let marks = [
                (asks.question, 'q'),
                (asks.seeks, 's'),
                (asks.past, 'p'),
                (asks.time, 't'),
                (asks.number, 'n'),
                (asks.place, 'w'),
                (asks.own, 'o'),
                (asks.yours, 'y'),
                (asks.refers, 'r'),
                (asks.personal, 'c'),
            ];
            marks.iter().filter(|(is, _)| *is).map(|(_, mark)| *mark).collect::<String>()
        };
        for (text, expected) in [
            ("I nod and sit down.", ""),
            ("Do you like tea?", "qy"),
            ("What did Odo say?", "qsp"),
            ("When did I leave?", "qsptor"),
            ("How many boats are there?", "qsn"),
            ("Where is the inn?", "qswr"),
            ("Remind me who broke the wheel", "qspor"),
            ("Was hat Odo damals gesagt?", "qspr"),
            ("彼は何と言ったのですか", "qsp"),
            ("他当时说了什么？", "qsp"),
            ("How are you today?", "qy"),
            ("Shall we see who wins?", "q"),
            ("Sorry, it was late. What?", "qs"),
            ("Wem gehörte die Kiste?", "qs"),
            ("Wollen wir Karten spielen?", "q"),
            ("What time is it?", "q"),
            ("Where can I wash my hands?", "qwo"),
            ("Which film should we watch tonight?", "q"),
            ("How do you tie that knot?", "qy"),
            ("How did you tie that knot?", "qspy"),
            ("What did we do that night again, tomorrow or not?", "qspr"),
            ("Where does the captain hide it?", "qswr"),
            ("Odo how did you get that scar", "qspy"),
            ("Where do you live?", "qswyc"),
            ("Which shift is yours again?", "qspyr"),
            ("What does her sister do?", "qsr"),
            ("When does it open?", "qt"),
            ("Is any soup left?", "qp"),
            ("Who was that?", "qp"),
            ("How many children would you like?", "qny"),
            ("Who wants some tea?", "q"),
            ("Who wants to buy the mill?", "qsr"),
            ("What song do you like?", "qy"),
        ] {
            assert_eq!(asks(text), expected, "{text}");
        }
        assert!(tells_number("eleven packets") && !tells_number("many packets"));
        assert!(tells_place("We met in Carrick.") && !tells_place("We met in autumn."));
    }
}
