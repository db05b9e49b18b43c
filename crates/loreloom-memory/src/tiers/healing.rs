//! A wound that healed.
//!
//! "Tobin's left hand has healed" shares too few words with "Tobin cut his hand on the eel knife
//! and wears a bandage" to be found by its likeness, and is often of another kind. It still makes
//! that note untrue.

use std::sync::LazyLock;

use regex::Regex;

use super::memories::Numbered;
use crate::{
    record::Memory,
    text::pattern,
    verify::{Neighbour, Verified},
};

// English, German, French, Spanish, Portuguese, Italian, Polish, Russian, Japanese and Chinese.
// The last two have no spaces, so their words may be anywhere.
static HEALED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:heals?|healed|recovers?|recovered|mended|cured|geheilt|verheilt|heilt|genesen|",
        r"guéri\w*|cicatrisée?s?|rétablie?s?|cur(?:ad[oa]s?|ó|aron)|san(?:ó|ad[oa]s?|aron)|",
        r"cicatriz(?:ó|ad[oa]s?|ou)|recuper(?:ó|ad[oa]s?|ou)|repuest[oa]s?|sar(?:ou|ad[oa]s?|aram)|",
        r"cur(?:ou|aram)|guarit[oaie]|guarì|rimarginat[oaie]|zagoi\w+|wyzdrowia\w+|wyleczon\w+|",
        r"заж(?:ил\w*|ива\w+|ивш\w+)|выздоров\w+|поправил\w+|вылечи\w+|исцел\w+)\b|",
        r"治っ|治り|癒え|完治|回復し|全快|愈合|痊愈|康复|治好|养好|好了",
    ))
});
/// "It has not healed yet", "it has yet to heal", "the healing takes weeks".
static NEGATED: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:not|never|hardly|barely|yet to|far from|until|unless|will|would|should|may|",
        r"might|if|nicht|nie|niemals|kaum|wird|werden|würde\w*|wenn|falls|ne|jamais|guère|pas|",
        r"sans guéri\w*|quand|nunca|jamás|apenas|cuando|não|nem|non|mai|appena|nigdy|ledwo|gdy|",
        r"jeśli|не|никогда|едва|если|когда)\b|n['’]t\b|\bn['’]\w|",
        r"\bno (?:se|ha|han|está|están|le|me|cur\w+|san\w+|cicatriz\w+)\b|",
        r"ない|ません|なかった|まだ|れば|たら|[没沒未不]|尚|如果|才能",
    ))
});
static INJURY: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)\b(?:cuts?|wound(?:s|ed)?|injur(?:y|ies|ed)|hurts?|broke|broken|burn(?:s|t|ed)?|",
        r"sprain(?:s|ed)?|bruised?|bandaged?|bleeds?|bleeding|fever|limps?|ill|sick|stabbed|scalded|",
        r"verletzt\w*|verletzung|wunde|gebrochen\w*|verband|fieber|krank\w*|blut\w*|verbrannt\w*|",
        r"bless\w+|plaie|coupure?|coupée?|cassée?s?|brûl\w+|entorse|saign\w+|fièvre|malade|bandage|",
        r"herid[oa]s?|lesion\w*|cortó|corte|rot[oa]|rompió|quemad\w+|sangr\w+|fiebre|enferm\w+|",
        r"venda\w*|ferid[oa]s?|feriu|ferimento|cortou|quebr\w+|partiu|queimad\w+|febre|doente|",
        r"ligadura|ferit[oaie]|tagli\w+|rott[oa]|ustionat\w+|febbre|malat\w+|fasciat\w+|",
        r"ran[aęyn]\w*|skalecz\w+|złam\w+|oparz\w+|krwaw\w+|gorączk\w+|chor[yaeo]\w*|bandaż\w*|",
        r"ран\w+|порез\w*|сломал\w*|перелом\w*|ожог\w*|обж[её]г\w*|кров\w+|лихорад\w+|жар|болен|",
        r"больн\w+|повязк\w+|бинт\w*|вывих\w*)\b|",
        r"傷|怪我|けが|ケガ|骨折|火傷|やけど|出血|熱を|病|包帯|捻挫|伤|受伤|骨折|烧伤|流血|发烧|生病|绷带|扭伤|划破",
    ))
});
/// Parts of the body, each once for all languages, so that both notes may name it differently.
const PARTS: &[&str] = &[
    r"arms?|arme?s?|bras|brazos?|braços?|bracci[oa]|ramię|ramieni\w*|腕|胳膊",
    r"hands?|hände?n?|mains?|manos?|mãos?|man[oi]|dło\w+|ręk\w+|рук\w+|手",
    r"fingers?|thumbs?|daumen|doigts?|pouce|dedos?|pulgar|polegar|dit[oa]|palc\w+|palec|палец|пальц\w+|指|拇",
    r"wrists?|handgelenk\w*|poignets?|muñecas?|pulsos?|polso|nadgarst\w+|запяст\w+|手首|手腕",
    r"elbows?|ellbogen|coudes?|codos?|cotovelos?|gomito|łok\w+|локт\w+|локоть|肘",
    r"shoulders?|schultern?|épaules?|hombros?|ombros?|spall[ae]|bark\w*|плеч\w+|肩",
    r"legs?|beine?n?|jambes?|piernas?|pernas?|gamb[ae]|nog\w+|ног\w+|脚|足|腿",
    r"knees?|knien?|genoux?|rodillas?|joelhos?|ginocchi\w*|kolan\w*|колен\w+|膝",
    r"foot|feet|fuß|füße|fuss|fusses|pieds?|pies?|pés?|pied[ei]|stop\w+|ступн\w+|стоп\w+",
    r"ankles?|knöchel\w*|chevilles?|tobillos?|tornozelos?|cavigli[ae]|kostk\w+|лодыжк\w+|щиколотк\w+|足首|脚踝",
    r"heads?|kopf\w*|têtes?|cabezas?|cabeças?|test[ae]|głow\w+|голов\w+|頭|头",
    r"faces?|gesicht\w*|visages?|caras?|rostos?|viso|twarz\w*|лиц\w+|顔|脸",
    r"eyes?|augen?|œil|oeil|yeux|ojos?|olhos?|occhi[oa]?|ok[ao]|oczy|глаз\w*|目|眼",
    r"ears?|ohr\w*|oreilles?|orejas?|orelhas?|orecchi\w*|ucho|uszy|ух[оа]|уш\w+|耳",
    r"noses?|nasen?|nez|narices|nariz|nas[oi]|нос\w*|鼻",
    r"necks?|hals\w*|nacken|cuello|pescoço|collo|szyj\w+|ше[яиюей]\w*|首|脖",
    r"backs?|rücken\w*|espalda|costas|schiena|plec\w+|спин\w+|背",
    r"chests?|brust\w*|poitrine|pecho|peito|petto|pier[sś]\w*|груд\w+|胸",
    r"ribs?|rippen?|côtes?|costillas?|costelas?|costol[ae]|żebr\w+|р[её]бр\w+|肋",
    r"sides?|flanke?|flanc|costado|flanco|fianco|bok\w*|бок\w*|脇|腹",
    r"hips?|hüften?|hanches?|caderas?|quadril|anc[ah]\w*|biodr\w+|бедр\w+|腰",
    r"toes?|zehe?n?|orteils?",
];
static BODY: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    let part = |words: &&str| {
        // Words of scripts without spaces have no boundaries.
        let (spaced, joined): (Vec<&str>, Vec<&str>) = words
            .split('|')
            .partition(|word| word.chars().next().is_some_and(|first| u32::from(first) < 0x3000));
        let mut source = format!(r"(?i)\b(?:{})\b", spaced.join("|"));
        if !joined.is_empty() {
            source = format!("{source}|{}", joined.join("|"));
        }
        pattern(&source)
    };
    PARTS.iter().map(part).collect()
});
/// Names: capital letters, katakana, and the first two characters of a Chinese or Japanese note.
static NAME: LazyLock<Regex> =
    LazyLock::new(|| pattern(r"\b\p{Lu}\p{L}+|[\p{Katakana}ー]{2,}|^\p{Han}{2}"));
/// First words of sentences that are no names.
static NO_NAME: LazyLock<Regex> = LazyLock::new(|| {
    pattern(concat!(
        r"(?i)^(?:the|his|her|their|my|your|our|on|in|at|it|after|now|all|der|die|das|den|dem|ein|",
        r"eine|sein\w*|ihr\w*|mein\w*|am|im|nach|jetzt|la|le|les|un|une|sa|son|ses|mon|ma|el|los|",
        r"las|una|su|sus|mi|al|os|as|um|uma|sua|seu|meu|minha|na|no|il|lo|gli|suo|jej|jego|po|",
        r"его|её|на|у|после)$",
    ))
});

fn parts(text: &str) -> Vec<usize> {
    BODY.iter().enumerate().filter(|(_, part)| part.is_match(text)).map(|(at, _)| at).collect()
}

fn names(text: &str) -> Vec<String> {
    let is_name = |word: &&str| {
        // German nouns have capital letters, too.
        let others = [&*HEALED, &*INJURY, &*NO_NAME];
        !others.iter().any(|one| one.is_match(word)) && parts(word).is_empty()
    };
    let all = NAME.find_iter(text).map(|one| one.as_str()).filter(is_name);
    all.map(|name| name.to_lowercase().trim_end_matches('s').to_owned()).collect()
}

/// Whether notes are in a language whose names have endings: Russian or Polish.
fn has_cases(notes: &str) -> bool {
    notes
        .chars()
        .any(|letter| matches!(letter, '\u{400}'..='\u{4FF}') || "ąćęłńśźż".contains(letter))
}

/// Whether two words are one name, where the end may differ or must not.
fn is_one_name(one: &str, other: &str, has_cases: bool) -> bool {
    let same = one.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
    let longest = one.chars().count().max(other.chars().count());
    one == other || has_cases && same >= 3 && same + 2 >= longest
}

/// Whether a statement says that the wound of another one is over: it is about the same person and
/// the same part of the body, as far as it names one.
fn is_over(wound: &str, statement: &str) -> bool {
    let about = names(statement);
    let hurt = names(wound);
    let has_cases = has_cases(wound) || has_cases(statement);
    let is_same = |name: &String| about.iter().any(|other| is_one_name(name, other, has_cases));
    let (healed, wounded) = (parts(statement), parts(wound));
    HEALED.is_match(statement)
        && !NEGATED.is_match(statement)
        && INJURY.is_match(wound)
        && !HEALED.is_match(wound)
        && hurt.iter().any(is_same)
        && (healed.is_empty() || wounded.iter().any(|part| healed.contains(part)))
}

/// Lets statements about something that healed replace the newest note about the wound.
pub(super) fn replace_wounds(verified: &mut Verified, candidates: &[Numbered], known: &[&Memory]) {
    for passed in &mut verified.passed {
        let Some(new) = candidates.get(passed.candidate) else { continue };
        let content = new.candidate.content.as_str();
        let is_settled = matches!(passed.neighbour, Some(Neighbour::Superseded(_)));
        if is_settled {
            continue;
        }
        let wounds = known.iter().filter(|old| !old.id.0.is_empty());
        if let Some(old) = wounds.rev().find(|old| is_over(&old.content, content)) {
            passed.neighbour = Some(Neighbour::Superseded(old.id.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wound_is_over_if_the_same_part_of_the_same_person_healed() {
        let cut = "Tobin cut his left hand on the eel knife this morning and wears a bandage.";
        for (wound, statement, expected) in [
            (cut, "Tobin's left hand has healed to a thin white line.", true),
            (cut, "Tobin has recovered.", true),
            (cut, "Tobin's leg has healed.", false),
            (cut, "Mara's hand has healed.", false),
            ("Tobin shook her hand.", "Tobin's hand has healed.", false),
            (cut, "Tobin's hand has not healed yet.", false),
            (cut, "Tobin's hand still hurts.", false),
            (cut, "Tobin's hand will have healed by spring.", false),
            ("The cut on Mara's hand bleeds.", "The hand of Tobin has healed.", false),
            ("Mara hat eine Wunde an der Hand.", "Tobins Hand ist verheilt.", false),
        ] {
            assert_eq!(is_over(wound, statement), expected, "{wound} {statement}");
        }
    }

    #[test]
    fn wounds_heal_in_all_languages_and_stay_where_they_have_not_healed() {
        for (wound, healed, open) in [
            (
                "Mara hat sich in die Hand geschnitten, sie trägt einen Verband.",
                "Maras Hand ist verheilt.",
                "Maras Hand ist noch nicht verheilt.",
            ),
            (
                "Camille a une blessure à la main.",
                "La main de Camille est guérie.",
                "La main de Camille n'est pas encore guérie.",
            ),
            (
                "Inés tiene una herida en la mano.",
                "La mano de Inés ha sanado.",
                "La mano de Inés todavía no ha sanado.",
            ),
            ("Rui tem uma ferida na mão.", "A mão de Rui sarou.", "A mão de Rui ainda não sarou."),
            (
                "Bruna ha una ferita alla mano.",
                "La mano di Bruna è guarita.",
                "La mano di Bruna non è ancora guarita.",
            ),
            (
                "Kasia ma ranę na dłoni.",
                "Dłoń Kasi się zagoiła.",
                "Dłoń Kasi jeszcze się nie zagoiła.",
            ),
            (
                "Варя порезала руку, порез глубокий.",
                "Рука Вари зажила.",
                "Рука Вари ещё не зажила.",
            ),
            (
                "ミナは手に傷を負った。",
                "ミナの手の傷は治った。",
                "ミナの手の傷はまだ治っていない。",
            ),
            ("阿宁的手受伤了。", "阿宁的手已经痊愈。", "阿宁的手还没痊愈。"),
        ] {
            assert!(is_over(wound, healed), "{wound} {healed}");
            assert!(!is_over(wound, open), "{wound} {open}");
        }
    }
}
