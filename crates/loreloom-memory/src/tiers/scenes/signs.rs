//! Words and marks with which stories begin a new scene, in eight languages.
//!
//! A clear sign is enough: time that passed, a journey, sleep, a cut to another place. A doubtful
//! one may also be part of a scene. Plans, habits, memories and questions are no signs, whatever
//! times they name. Short times ("a moment later") are not listed.

use std::sync::LazyLock;

use regex::{Regex, RegexSet};

use super::{headings::sets_apart, narration::narration, told_time::told_time};
use crate::text::{pattern, sentences};

/// What a text says about the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SceneSign {
    /// A new scene begins.
    Clear,
    /// A new scene may begin.
    Doubtful,
    /// The scene goes on.
    Absent,
}

/// Sentences that plan, repeat, remember or suppose.
const NO_EVENT: &str = concat!(
    r"(?i)[?？]\s*$|\b(?:will|'ll|shall|should|would|could|can't|cannot|must|might|every|always|",
    r"usually|if|remembers?|recalls?|thinks? (?:about|of)|promises?|jeden|immer|würden?|sollten?|",
    r"wenn|tous les|toutes les|chaque|toujours|todos los|todas las|cada|siempre|todos os|",
    r"todas as|sempre|se tarda|кажд\w+|всегда|если|нужн[ао])\b|毎[日朝晩]|每天",
);

/// Clear signs in a sentence.
const CLEAR: &[&str] = &[
    // English: time that passed.
    concat!(
        r"(?i)\b(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|few|",
        r"several|many|some|couple of|\d+|lifetime|eternity|the|most of an?)?\s*",
        r"(?:hours?|days?|nights?|weeks?|months?|years?|decades?|lifetime)\s+",
        r"(?:later|afterwards|pass(?:es|ed)?|go(?:es)? by|went by|had passed|have passed|",
        r"has passed|had gone by|slips? by|crawls? by|drags? on)\b",
    ),
    r"(?i)\b(?:hours|days|weeks|months|years) after\b",
    r"(?i)\bthe (?:days|weeks|months|years) (?:that|which) follow",
    r"(?i)\bit(?:'s| is| has| had)? been (?:an?|\w+) (?:day|week|month|year)s? since\b",
    r"(?i)(?:\bthe |^\W*)(?:next|following) (?:day|morning|afternoon|evening|night|week|month|year)\b",
    r"(?i)^\W*(?:that|the same|later that|early that|late that) (?:very )?(?:day|morning|afternoon|evening|night)\b",
    r"(?i)^\W*(?:much |some time |a good while |sometime )?later\b",
    r"(?i)^\W*by (?:sunset|sundown|sunrise|nightfall|dawn|dusk|daybreak|morning|noon|midday|evening|midnight|the time)\b",
    r"(?i)^\W*(?:at|around|towards?|before|just before|shortly after|after) (?:dawn|dusk|sunset|sunrise|nightfall|daybreak|midnight|noon|first light)\b",
    r"(?i)^\W*(?:dawn|dusk|morning|noon|midnight|night|evening|sunrise|sunset|nightfall)\s*[.,:]",
    r"(?i)^\W*(?:the )?(?:winter|spring|summer|autumn|fall|dawn|morning|night|evening|dusk) (?:comes?|came|arrives?|arrived|falls?|fell|breaks?|broke|finds?|found)\b",
    r"(?i)\b(?:once|when|as|after|by the time) (?:the sun|night|darkness|dawn|dusk|morning) (?:has |had )?(?:set|sets|risen|rises|rose|gone down|fallen|falls|fell|comes?|came|breaks?|broke)\b",
    r"(?i)\bit(?:'s| is| was) (?:long |well |already )?(?:past|after|nearly|almost) (?:midnight|noon|dark|dawn) when\b",
    r"(?i)^\W*after (?:supper|dinner|breakfast|lunch|school|work|the funeral|the wedding|the show|the service|class|practice)\b",
    r"(?i)^\W*in the (?:early |late )?(?:morning|afternoon|evening|night|small hours)\b",
    r"(?i)^\W*(?:the )?(?:early |pale |grey |first )?(?:morning|dawn) (?:light|sun|sunlight)\b",
    r"(?i)\b(?:days|weeks|months|hours) (?:turn|turned|become|became|stretch|stretched|blur|blurred) into\b|\btime (?:passes|passed|flies|goes by)\b",
    r"(?i)^\W*(?:on )?(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday)(?: (?:morning|afternoon|evening|night))?\s*[.,:]",
    r"(?i)\bthe sun (?:is|was|has) (?:already |nearly |almost )?(?:high|up|setting|set|risen|gone)\b.*\b(?:when|by the time|before)\b",
    r"(?i)^\W*(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|several|a few|\d+) (?:hours|days|nights|weeks|months|years) of \w+",
    r"(?i)\b(?:spends?|spent) (?:the (?:rest|whole|better part) of (?:the|that|an?) |the whole |all |an entire |\w+ )(?:day|night|week|month|winter|summer|days|weeks|months)\b",
    r"(?i)\b(?:doesn't|don't|do not|does not|didn't|did not) (?:stop|slow down|rest) (?:again )?until\b",
    // English: sleep.
    r"(?i)\bwhen (?:i|you|he|she|they|we|\p{Lu}\p{Ll}+) opens? (?:them|(?:my|your|his|her|their|our) eyes)\b",
    r"(?i)\b(?:falls?|fell|drifts?|drifted|dozes?|dozed|nods?|nodded) (?:asleep|off)\b",
    r"(?i)\b(?:i|you|he|she|they|we|\p{Lu}\p{Ll}+) (?:wakes?|woke|awakens?|awoke|comes? to|came to)\b",
    r"(?i)\bsleep (?:takes|took|claims|claimed)\b|\bregains? consciousness\b",
    // English: journeys.
    concat!(
        r"(?i)\b(?:i|we|you|he|she|they|\p{Lu}\p{Ll}+) (?:rides?|rode|drives?|drove|travels?|",
        r"travelled|traveled|walks?|walked|sails?|sailed|march(?:es|ed)?|rows?|rowed|fl(?:y|ies|ew)|",
        r"hikes?|hiked|climbs?|climbed|journeys?|journeyed)\b.{0,60}?(?:\ball (?:night|day|morning|",
        r"afternoon)\b|\bfor (?:most of |the better part of )?(?:an?|two|three|four|five|six|seven|",
        r"several|many|\w+) (?:hours?|days?|nights?|weeks?|months?|miles)\b|\buntil (?:the|we|dawn|",
        r"dusk|nightfall)\b)",
    ),
    r"(?i)\bthe (?:journey|trip|voyage|ride|crossing|drive|flight|march) (?:takes|took|lasts|lasted)\b",
    r"(?i)\b(?:when|as soon as|by the time) (?:i|we|you|he|she|they|\p{Lu}\p{Ll}+) (?:finally |at last )?(?:arrives?|arrived|reach(?:es|ed)?|gets? (?:to|there|home|back)|got (?:to|there|home|back))\b",
    r"(?i)^\W*on the (?:second|third|fourth|fifth|sixth|seventh|tenth) (?:day|morning|night|evening)\b",
    r"(?i)\b(?:i|we|you|he|she|they|\p{Lu}\p{Ll}+) (?:finally |at last )?arrive[sd]? (?:at|in|back|home)\b",
    r"(?i)\b(?:plane|flight|train|bus|ship|ferry|coach|carriage|boat|car) (?:finally )?(?:lands|landed|docks|docked|pulls (?:into|up at)|pulled (?:into|up at)|arrives|arrived|rolls into)\b",
    r"(?i)\b(?:make|makes|made|set up|sets up|pitch|pitches|pitched) camp\b|\bcamp(?:s|ed)? for the night\b",
    // English: elsewhere.
    r"(?i)^\W*(?:meanwhile|elsewhere|across town|back (?:at|in|on|home)\b|home again|far away|miles away|at the same time|on the (?:other|far) side of (?:the )?(?:city|town|world|river|mountains?))",
    r"(?i)\balone (?:now|at last|again),",
    // German.
    concat!(
        r"(?i)\b(?:stunden?|tage?n?|nächte?|wochen?|monate?n?|jahre?n?) ",
        r"(?:später|danach|vergeh\w*|vergingen|verging|vergangen|ist vergangen|sind vergangen|nach de[rmn])\b",
    ),
    r"(?i)\b(?:am|an einem) (?:nächsten|folgenden|selben|anderen) (?:morgen|tag|abend|nachmittag)\b|\bin (?:jener|derselben|der folgenden) nacht\b|\ban jenem (?:abend|morgen|tag|nachmittag)\b",
    r"(?i)^\W*(?:am (?:abend|morgen|nachmittag|mittag)|gegen (?:abend|mittag|mitternacht)|später|viel später|nachts|bei (?:tagesanbruch|sonnenuntergang)|im morgengrauen)\b",
    r"(?i)\bdie ganze nacht\b|\bden ganzen tag\b.*\b(?:reite|fahre|gehe|laufe|wander)\w*",
    r"(?i)^\W*(?:unterdessen|währenddessen|inzwischen|zur gleichen zeit|zurück (?:in|im|zu)|am anderen ende|auf der anderen seite)\b",
    r"(?i)\b(?:wach(?:e|t|te|st)? (?:auf|wieder)|aufwach\w*|aufgewacht|erwach\w*)\b|\bschl(?:äf|ief|af)\w*\b.{0,30}\bein\b|\beingeschlafen\b",
    r"(?i)\b(?:der )?(?:frühling|sommer|herbst|winter|morgen|abend|die nacht) (?:kommt|kam|bricht|brach)\b",
    r"(?i)\bals (?:wir|sie|er|ich|es|\w+) (?:endlich |schließlich )?.{0,30}\b(?:ankomm\w*|ankam\w*|erreich\w*|eintreff\w*)\b",
    r"(?i)^\W*(?:nach dem (?:abendessen|essen|frühstück|unterricht|begräbnis)|wieder zu hause|zu hause angekommen|(?:montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag)s?(?:morgen|abend|nachmittag)?\s*[.,:])|\bdie zeit (?:vergeht|verging)\b",
    r"(?i)\bals .{0,20}\bdie augen (?:wieder )?(?:aufschl\w*|öffne\w*)|\bdie (?:fahrt|reise|überfahrt|wanderung) dauert\w*\b",
    // French.
    r"(?i)^\W*(?:après|au bout de) \w+ (?:heures?|jours?|semaines?|mois|ans) (?:de|d')\b|\bquand .{0,12}\b(?:rouvre|ouvre) les yeux\b",
    r"(?i)\b(?:heures?|jours?|nuits?|semaines?|mois|ans|années?) (?:plus tard|passent|passe|passèrent|passa|après|s'écoul\w*|ont passé|a passé|se sont écoulé\w*)\b",
    r"(?i)\ble lendemain\b|\b(?:le|la) (?:jour|matin|soir|nuit|semaine) suivante?\b|\bc(?:e|ette) (?:soir|matin|jour|nuit|après-midi)-là\b",
    r"(?i)^\W*(?:bien |beaucoup )?plus tard\b|^\W*(?:à l'aube|au petit matin|à minuit|à la tombée)",
    r"(?i)\b(?:roul|march|voyag|chevauch|navigu|conduis|avanç)\w*.{0,30}\btoute la (?:nuit|journée)\b",
    r"(?i)^\W*(?:pendant ce temps|au même moment|ailleurs|de retour|de l'autre côté|à l'autre bout)",
    r"(?i)\b(?:me|te|se|nous|vous) réveill\w*|\bs'éveill\w*|\bs'endor\w*|\bm'endor\w*",
    r"(?i)\b(?:le printemps|l'été|l'automne|l'hiver|la nuit|le matin) (?:arrive|vient|tombe|tomba|est venue?|vint)\b",
    r"(?i)\b(?:quand|lorsque) (?:nous|ils|elles?|il|je|tu|vous) (?:arriv|attei)\w*",
    r"(?i)^\W*(?:le soir|au matin|le soir venu|dans la soirée|après (?:le dîner|le déjeuner|l'école|l'enterrement))\b|\ble temps passe\b|\b(?:nous|ils|elles) arriv(?:ons|ent|èrent|âmes) (?:à|au|en|chez)\b",
    // Spanish and Portuguese.
    r"(?i)\b(?:pasan?|pasó|pasaron|ha pasado|han pasado|transcurr\w*|passam?|passou|passaram|passaram-se|passou-se) (?:un|una|uns|umas|unos|unas|um|uma|dos|dois|duas|tres|três|\w+) (?:horas?|días?|dias?|noches?|noites?|semanas?|mes|meses|mês|años?|anos?)\b",
    r"(?i)\b(?:horas?|días?|dias?|noches?|noites?|semanas?|mes|meses|mês|años?|anos?) (?:después|más tarde|depois|mais tarde)\b",
    r"(?i)\b(?:a la|na) (?:mañana|manhã|noche|noite|tarde) (?:siguiente|seguinte)\b|\b(?:al|no) d[ií]a (?:siguiente|seguinte)\b|\b(?:esa|aquella|essa|aquela|nessa|naquela) (?:mañana|manhã|tarde|noche|noite)\b",
    r"(?i)^\W*(?:mucho |muito )?(?:más|mais) tarde\b|^\W*(?:al|ao) (?:amanecer|anochecer|alba|amanhecer|anoitecer)\b|^\W*de madrugada\b",
    r"(?i)\btoda (?:la noche|a noite)\b|\ba noite (?:inteira|toda)\b|\btodo (?:el día|o dia)\b",
    r"(?i)^\W*(?:mientras tanto|entretanto|enquanto isso|ao mesmo tempo|al mismo tiempo|(?:al|do) otro lado|do outro lado|de vuelta|de volta)",
    r"(?i)\b(?:despiert[oae]s?|desperté|despertó|se despert\w*|acord(?:o|a|ou|ei|amos|am)|dormid[oa]s?|se duerme\w*|se durmió|adormec\w*)\b",
    r"(?i)\b(?:llega|llegó|chega|chegou|viene|vem) (?:la primavera|el verano|el otoño|el invierno|a primavera|o verão|o outono|o inverno|la noche|a noite)\b",
    r"(?i)\b(?:cuando|quando) (?:por fin |finalmente |enfim )?(?:lleg|cheg)\w*",
    r"(?i)^\W*(?:por la (?:mañana|tarde|noche)|de (?:manhã|noite|tarde)|à noite|después de (?:la cena|cenar|comer|la escuela)|depois do (?:jantar|almoço)|depois da escola)\b|\bel tiempo pasa\b|\bo tempo passa\b|\b(?:llegamos|llegan|chegamos|chegam) (?:a|al|à|ao)\b",
    r"(?i)\b(?:pasan|pasaron|passam|passaram) (?:los|las|os|as) (?:horas|días|dias|semanas|meses|años|anos)\b",
    r"(?i)\b(?:cabalg|viaj|camin|conduc|naveg|march|caminh|cavalg|dirig|andá|andam)\w* .{0,12}\b(?:horas|días|dias|semanas|noches|noites)\b",
    // Russian.
    r"(?i)\bпро(?:ходит|ходят|шло|шла|шли|шёл|шел)\b.{0,20}\b(?:час|часа|часов|день|дня|дней|ночь|недел\w*|месяц\w*|год|года|лет)\b",
    r"(?i)\b(?:час|часа|часов|день|дня|дней|недел\w*|месяц\w*|год|года|лет) спустя\b|\b(?:через|спустя)\s+(?:\w+\s+)?(?:час|часа|часов|день|дня|дней|недел\w*|месяц\w*|год|года|лет)\b",
    r"(?i)\bна следующ(?:ее|ий|ую) (?:утро|день|вечер|ночь)\b|\b(?:той|этой) (?:же )?ночью\b|\b(?:тем|этим) (?:же )?(?:вечером|утром)\b|\bв тот (?:же )?(?:день|вечер)\b",
    r"(?i)^\W*(?:гораздо |намного )?позже\b|^\W*(?:на рассвете|на закате|утром|вечером|ночью|к вечеру|к утру|в полночь)\b",
    r"(?i)\bвсю ночь\b|\bвесь день\b",
    r"(?i)^\W*(?:тем временем|между тем|в это же время|на другом конце|вернувшись)",
    r"(?i)\b(?:просыпа\w*|проснул\w*|очнул\w*|засыпа\w*|заснул\w*|уснул\w*)\b",
    r"(?i)\b(?:приходит|пришл[ао]|наступа\w*|наступил\w*) (?:весна|лето|осень|зима|утро|ночь|вечер)\b",
    r"(?i)\bкогда\b.{0,25}\b(?:добира\w*|добрал\w*|приезжа\w*|приехал\w*|приход\w*|прибыва\w*|прибыл\w*)\b",
    r"(?i)^\W*(?:наутро|после (?:ужина|обеда|завтрака|школы|похорон))\b|\bвремя идёт\b|\b(?:мы|они) (?:приезжаем|приезжают|прибываем|прибывают|добираемся|добираются)\b",
    // In all of these languages: seasons that are counted or over, weekdays, hours of the day by
    // which something is so, days of something, first light, and an end of a journey.
    r"(?i)^\W*(?:two|three|four|five|six|seven|ten|many|\d+) (?:winters|summers|springs|autumns|harvests)\b|\b(?:for|in) \w+ (?:days|weeks|months|years) when\b",
    r"(?i)^\W*(?:monday|tuesday|wednesday|thursday|friday|saturday|sunday) (?:finds|found|comes|came|brings|brought)\b|\b(?:behind us|behind me|behind them)\b.*\bby the time\b|\bby the time\b.*\bbehind (?:us|me|them)\b|\bshrinks? behind (?:us|me|them)\b",
    r"(?i)^\W*(?:zwei|drei|vier|fünf|sechs|sieben|zehn|viele|\d+) (?:stunden|tage|nächte|wochen|monate|jahre|winter|sommer) \p{L}+|\b(?:sommer|winter|herbst|frühling) ist (?:längst |schon )?vorbei\b",
    r"(?i)^\W*(?:deux|trois|quatre|cinq|six|sept|dix|\d+) (?:hivers|étés|printemps|automnes)\b|\bà la nuit tombante\b|\baux premières lueurs\b",
    r"(?i)^\W*(?:dos|tres|três|dois|cuatro|quatro|cinco|seis|siete|sete|diez|dez|\d+) (?:inviernos|veranos|otoños|primaveras|invernos|verões|outonos)\b|\bcon las primeras luces\b|\bcom as primeiras luzes\b|\b(?:cuando|quando) (?:abro|abre|abrimos|abrem) los ojos\b|\bquando (?:abro|abre|abrimos|abrem) os olhos\b",
    r"(?i)\b(?:barco|navio|tren|trem|comboio|autobús|autocarro) (?:entra|atraca|chega|llega) (?:en|em|no|na|a|ao|al)\b|\b(?:sólo|solo|só) par(?:amos|an|am|o|ei|é)\b|\b(?:o outono|o verão|o inverno|a primavera|el otoño|el verano|el invierno|la primavera) (?:já|ya) \p{L}+",
    r"(?i)(?:^|[,;] (?:и )?)\W*к (?:полудню|концу (?:дня|недели|месяца|года|лета|зимы)|рассвету|ночи)\b",
    // Japanese and Chinese.
    r"[二三四五六七八九十\d]日目に|(?:汽車|列車|電車|船|飛行機|バス)を降り|[驿驛]站歇下|过夜|投宿|下了(?:火车|船|飞机|马车)",
    r"翌[朝日晩]|次の[日朝晩]|その[夜晩]|その後|その頃|(?:時間|日|週間|か月|ヶ月|年|数日)後|(?:日|週間|か月|ヶ月|月|年|時間)が(?:過ぎ|経|たっ)|一晩中|夜明け|日が暮れ|夜になる|朝になる",
    r"^\s*一方|の反対側では|目を覚ま|目が覚め|眠りに落ち|眠りについ|眠り込|[春夏秋冬]が来|(?:ようやく|やっと|ついに).{0,12}(?:着|到着)",
    r"第二天|次日|翌日|当[晚天]|那天(?:夜里|晚上|早上|夜晚|下午)|^\s*后来|(?:小时|天|星期|周|个?月|年)(?:之后|以后|后|过去了)|过了[一二两三四五六七八九十几好多\d]+(?:天|年|个|周)|一整[夜天]|黎明|天(?:黑|亮)(?:的时候|了|后)",
    r"与此同时|另一(?:头|边|端)[，,]|醒来|醒了|睡着了|[春夏秋冬]天(?:来了|到了)|终于(?:到|抵达|来到)",
    r"^\s*(?:夕方|夜|朝|深夜|真夜中|早朝)[、，]|夕食の(?:後|あと)|帰宅(?:する|した)|^\s*(?:晚上|早上|清晨|傍晚|深夜|半夜|下午)[，,]|到了(?:傍晚|晚上|早上|夜里)|晚饭(?:之?后)|回到(?:家|村|城)",
];

/// Signs that are also found within scenes.
const DOUBTFUL: &[&str] = &[
    r"(?i)\b(?:meanwhile|after a while|some time|before long|soon after|minutes later|half an hour)\b",
    r"(?i)\b(?:arrives?|arrived|reach(?:es|ed)?|returns?|returned|enters?|entered|heads?|headed|leaves?|left|sets? out|departs?) (?:at|in|to|for|from|the|home|back|without)\b",
    r"(?i)\b(?:the clock strikes|says? goodbye|say farewell|takes the (?:bus|train|boat))\b|\bit's (?:dark|late|morning|light) when\b",
    r"(?i)\b(?:now|here) (?:it is|it's) (?:morning|evening|night|noon)\b|\bthe sun (?:rises|rose|sets|is up|comes up)\b",
    r"(?i)\b(?:nach einer weile|minuten später|au bout d'un moment|minutes plus tard|minutos después|minutos depois|минут спустя)\b|しばらくして|过了一会",
];

static TELLS_NO_EVENT: LazyLock<Regex> = LazyLock::new(|| pattern(NO_EVENT));
static IS_CLEAR: LazyLock<RegexSet> = LazyLock::new(|| set(CLEAR));
static IS_DOUBTFUL: LazyLock<RegexSet> = LazyLock::new(|| set(DOUBTFUL));

#[expect(clippy::expect_used, reason = "the patterns are literals, compiled by a test")]
fn set(sources: &[&str]) -> RegexSet {
    RegexSet::new(sources).expect("literal patterns are valid")
}

/// What a text says about the scene.
pub fn scene_sign(text: &str) -> SceneSign {
    if text.lines().any(sets_apart) {
        return SceneSign::Clear;
    }
    let told = narration(text);
    let mut sign = SceneSign::Absent;
    for sentence in told.lines().flat_map(sentences) {
        if TELLS_NO_EVENT.is_match(sentence) {
            continue;
        }
        let time = told_time(sentence);
        if time == SceneSign::Clear || IS_CLEAR.is_match(sentence) {
            return SceneSign::Clear;
        }
        if time == SceneSign::Doubtful || IS_DOUBTFUL.is_match(sentence) {
            sign = SceneSign::Doubtful;
        }
    }
    sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_are_clear_doubtful_or_absent() {
        use SceneSign::{Absent, Clear, Doubtful};
        for (text, expected) in [
            ("A week passes.", Clear),
            ("Three hours later, the train stops.", Clear),
            ("\"A week passes,\" he reads.", Absent),
            ("A few seconds later it clicks.", Absent),
            ("Every night they fall asleep at ten.", Absent),
            ("Will they fall asleep?", Absent),
            ("* * *", Clear),
            ("## The mill", Clear),
            ("**Two weeks later**", Clear),
            ("**Stop.** She means it.", Absent),
            ("The pipe is lit. Half an hour of silence.", Doubtful),
            ("Eine Woche vergeht.", Clear),
            ("翌朝、雪が積もっていた。", Clear),
            ("片刻之后，锁开了。", Absent),
        ] {
            assert_eq!(scene_sign(text), expected, "{text}");
        }
    }
}
