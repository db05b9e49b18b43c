//! Time that is skipped, put together from words.
//!
//! A story says in countless ways that hours or days are gone, but with few words: units of time,
//! parts of the day, seasons, journeys, "pass", "until", "already". So each language lists its
//! words once, and the same rules apply to all of them. A rule that holds in one language cannot be
//! forgotten in another.

use std::sync::LazyLock;

use regex::Regex;

use super::signs::SceneSign;
use crate::text::pattern;

/// The words of a language, as alternatives of a pattern.
struct TimeWords {
    /// Units of an hour or more.
    unit: &'static str,
    /// Words for an unclear number of units: "several", "almost a".
    many: &'static str,
    /// To pass.
    pass: &'static str,
    /// What makes a span of time lie behind: "later".
    later: &'static str,
    /// Parts of the day.
    part: &'static str,
    season: &'static str,
    /// To come or to go, of seasons and parts of the day.
    come: &'static str,
    /// Nouns and verbs of journeys.
    journey: &'static str,
    /// To arrive, to come into sight, to stop.
    reach: &'static str,
    until: &'static str,
    /// "Only towards", "not before".
    only: &'static str,
    already: &'static str,
    when: &'static str,
    /// It gets dark, it gets light.
    dawns: &'static str,
    /// To wake somebody, to be woken, to open one's eyes again.
    wakes: &'static str,
    /// "For days", "day after day".
    on_end: &'static str,
    /// Whether words have boundaries.
    spaced: bool,
}

const ENGLISH: TimeWords = TimeWords {
    unit: "hours?|days?|nights?|weeks?|fortnights?|months?|years?",
    many: "an?|one|two|three|four|five|six|seven|eight|nine|ten|several|a few|many|half an?|a couple of|\\d+",
    pass: "pass|passes|passed|go by|goes by|went by|gone by|slips? by|slipped by|fly by|flew by",
    later: "later|afterwards|further on",
    part: "dawn|sunrise|daybreak|daylight|morning|noon|midday|dusk|sunset|sundown|nightfall|evening|night|dark|midnight|first light",
    season: "spring|summer|autumn|winter",
    come: "comes?|came|goes|went|passes|passed|ends|ended|gives way|gave way|turns to|turned to|is over|was over",
    journey: "journey|trip|voyage|crossing|march|drive|ride|flight|climb|hike|walk|trek|on the road|on foot|sailing|travel(?:s|led|ling|ed|ing)?|riding|marching|walking",
    reach: "reach(?:es|ed)?|arrives?|arrived|gets? (?:to|there|home)|got (?:to|there|home)|comes? into (?:view|sight)|came into (?:view|sight)|pulls? (?:up|over|in)|pulled (?:up|over|in)|stops?|stopped|pitch|find|found|makes? it|made it",
    until: "until|till",
    only: "only (?:at|towards?|by|in the)|not (?:until|before)|it's (?:almost |nearly |well past )",
    already: "already|almost|nearly",
    when: "when|by the time|once|as",
    dawns: "(?:it|outside) (?:grows|grew|gets|got|is getting|was getting) (?:dark|light)|darkness (?:falls|fell|has fallen)|the (?:day|sky) (?:breaks|broke)|day breaks",
    wakes: "(?:wakes?|woke|rouses?|roused|shakes?|shook) (?:me|you|him|her|us|them)(?: up| awake|\\b)|(?:am|are|is|was|were) woken|opens? (?:my|your|his|her|their) eyes again",
    on_end: "for (?:days|weeks|months|hours)|(?:day|night|week|hour) after (?:day|night|week|hour)|(?:days|weeks|months) on end",
    spaced: true,
};

const GERMAN: TimeWords = TimeWords {
    unit: "stunden?|tage?n?|nächten?|nacht|wochen?|monate?n?|jahre?n?",
    many: "eine[nrm]?|ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|einige|mehrere|viele|ein paar|halben?|fast|\\d+",
    pass: "vergeh(?:t|en)|verging(?:en)?|vergangen|verstreich(?:t|en)|verstrich(?:en)?|zieh(?:t|en) (?:vorbei|vorüber|ins land)|zog(?:en)? (?:vorbei|vorüber|ins land)",
    later: "später|danach|darauf",
    part: "morgengrauen|sonnenaufgang|tagesanbruch|morgen|mittag|nachmittag|dämmerung|sonnenuntergang|abend|nacht|mitternacht|einbruch der (?:nacht|dunkelheit)",
    season: "frühling|frühjahr|sommer|herbst|winter",
    come: "kommt|kam|geht|ging|endet|endete|naht|nahte|gekommen|geworden|vergeht|verging|ist da|war da",
    journey: "fahrt|reise|ritt|marsch|weg|überfahrt|flug|aufstieg|wanderung|fußmarsch|reit\\w+|marschier\\w+|wander\\w+|unterwegs",
    reach: "erreich\\w+|ankomm\\w*|kommt?.{1,25}\\ban|kam(?:en)?.{1,25}\\ban|in sicht|vor dem tor|hält|hielt|hielten|stehen? .{0,15}vor|find\\w+|fand\\w*",
    until: "bis",
    only: "erst (?:gegen|am|im|bei|kurz vor|nach|zum)",
    already: "schon|bereits|längst|fast",
    when: "als|bis|sobald",
    dawns: "es (?:wird|wurde) (?:dunkel|hell|abend|nacht|tag)|es dämmert\\w*|dunkelheit (?:bricht|brach)|die nacht bricht|dunkel geworden|hell geworden",
    wakes: "weckt\\w* (?:mich|dich|ihn|sie|uns)|(?:werde|wirst|wird|wurde|wurdest) .{0,30}geweckt|reißt .{0,20}aus dem schlaf|augen wieder (?:auf|öffn)\\w*",
    on_end: "tagelang|wochenlang|monatelang|stundenlang|tag für tag|nacht für nacht",
    spaced: true,
};

const FRENCH: TimeWords = TimeWords {
    unit: "heures?|jours?|journées?|nuits?|semaines?|mois|ans|années?",
    many: "une?|deux|trois|quatre|cinq|six|sept|huit|neuf|dix|quelques|plusieurs|presque|près d['e]|demi-|\\d+",
    pass: "pass(?:e|ent|a|èrent|é|ée|és|ées)|s'écoul\\w*|écoulé\\w*|fil(?:e|ent|èrent)|défil\\w*",
    later: "plus tard|après|ensuite",
    part: "aube|lever du (?:jour|soleil)|matin|midi|après-midi|crépuscule|coucher du soleil|soir|nuit|minuit|tombée (?:du jour|de la nuit)",
    season: "printemps|été|automne|hiver",
    come: "vient|vint|arriv\\w+|pass(?:e|a)|s'achèv\\w*|s'achev\\w*|revient|revint|touche à sa fin|est là",
    journey: "trajet|voyage|marche|route|traversée|chevauchée|vol|montée|ascension|randonnée|chemin|march\\w+|chevauch\\w+|voyag\\w+|roul\\w+",
    reach: "attei\\w+|arriv\\w+|parv\\w+|franchi\\w*|apparaît|apparaissent|s'arrêt\\w*|se gar\\w*|trouv\\w+|en vue|coup\\w+ .{0,15}moteur",
    until: "jusqu['e](?:à|au|aux)?",
    only: "(?:n'est|ne .{0,20}) ?qu['e]|seulement (?:à|au|vers)|pas avant",
    already: "déjà|presque|bientôt",
    when: "quand|lorsque?|le temps que|dès que",
    dawns: "la nuit (?:tombe|tomba|est tombée)|le jour (?:se lève|se leva|s'est levé|décline)|il fait (?:déjà )?(?:nuit|jour|noir)",
    wakes: "(?:me|te|le|la|nous|vous) (?:réveille|réveilla|réveillent|tire du sommeil)|réveillée? par|(?:r?ouvr\\w+) (?:à nouveau )?les yeux",
    on_end: "pendant (?:des|plusieurs|quelques) (?:heures|jours|semaines|mois)|(?:jour|nuit) après (?:jour|nuit)|des (?:jours|semaines|mois) durant",
    spaced: true,
};

const SPANISH: TimeWords = TimeWords {
    unit: "horas?|días?|jornadas?|noches?|semanas?|mes|meses|años?",
    many: "una?|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|unas?|unos|varias|varios|muchas|muchos|casi|media|\\d+",
    pass: "pas(?:a|an|ó|aron|ado)|transcurr\\w+|vuelan|volaron",
    later: "después|más tarde|luego",
    part: "alba|amanecer|madrugada|mañana|mediodía|tarde|atardecer|anochecer|noche|medianoche|puesta de sol|caída de la noche",
    season: "primavera|verano|otoño|invierno",
    come: "lleg\\w+|vien\\w+|vino|pas[aóe]\\w*|acab\\w+|termin\\w+|se fue|se va|se acerca",
    journey: "viaje|camino|marcha|travesía|trayecto|vuelo|subida|caminata|cabalgata|carretera|camin\\w+|cabalg\\w+|viaj\\w+|naveg\\w+|conduc\\w+|a pie",
    reach: "lleg\\w+|alcanz\\w+|aparec\\w+|se detien\\w+|se detuv\\w+|a la vista|encontr\\w+|encuentr\\w+|par(?:amos|an|a|ó)|dej\\w+ frente",
    until: "hasta",
    only: "(?:sólo|solo|recién) (?:al|a la|hacia|de)|no .{1,25} hasta|pasada la",
    already: "ya|casi",
    when: "cuando|para cuando|en cuanto",
    dawns: "anochec(?:e|ió|iendo|ido)|amanec(?:e|ió|iendo|ido)|atardec(?:e|ió|iendo)|oscurec(?:e|ió|iendo|ido)|(?:cae|cayó) la (?:noche|tarde)|se (?:hace|hizo) de (?:noche|día)|es de (?:día|noche)|sale el sol",
    wakes: "(?:me|te|lo|la|le|nos) despiert\\w+|(?:me|te|lo|la|le|nos) despert\\w+|abr\\w+ (?:de nuevo )?los ojos",
    on_end: "durante (?:horas|días|semanas|meses)|(?:día|noche) tras (?:día|noche)|(?:las|los) (?:semanas|días|meses) siguientes",
    spaced: true,
};

const PORTUGUESE: TimeWords = TimeWords {
    unit: "horas?|dias?|noites?|semanas?|mês|meses|anos?",
    many: "uma?|dois|duas|três|quatro|cinco|seis|sete|oito|nove|dez|umas?|uns|várias|vários|muitas|muitos|quase|meia|algumas|alguns|\\d+",
    pass: "pass(?:a|am|ou|aram|ado)|(?:se )?passaram|decorr\\w+|voam|voaram",
    later: "depois|mais tarde|após",
    part: "alvorada|amanhecer|madrugada|manhã|meio-dia|tarde|entardecer|anoitecer|noite|meia-noite|pôr do sol|cair da noite",
    season: "primavera|verão|outono|inverno",
    come: "cheg\\w+|vem|veio|pass\\w+|acab\\w+|termin\\w+|foi-se|se foi|aproxima\\w*",
    journey: "viagem|caminho|marcha|travessia|percurso|voo|subida|caminhada|cavalgada|estrada|caminh\\w+|cavalg\\w+|viaj\\w+|naveg\\w+|conduz\\w+|dirig\\w+|a pé",
    reach: "cheg\\w+|alcanç\\w+|avist\\w+|aparec\\w+|surg\\w+|à vista|encontr\\w+|estacion\\w+|par(?:amos|am|a|ou)",
    until: "até",
    only: "(?:só|apenas|somente) (?:ao|à|pela|de|em)|não .{1,25} até|passava da",
    already: "já|quase",
    when: "quando|assim que|até que",
    dawns: "anoitec(?:e|eu|endo|ido)|amanhec(?:e|eu|endo|ido)|entardec(?:e|eu|endo)|escurec(?:e|eu|endo|ido)|(?:cai|caiu) a (?:noite|tarde)|a noite (?:cai|caiu|chega|chegou)|o sol (?:nasce|nasceu|se põe|põe-se)|o dia (?:nasce|nasceu|clareia|clareou)",
    wakes: "(?:me|te|o|a|nos) acord(?:a|ou|am|aram)|acord(?:a|ou|am)-(?:me|te|o|a|nos)|acordad[oa]s? (?:por|com|pelo|pela)|abr\\w+ (?:de novo )?os olhos",
    on_end: "durante (?:horas|dias|semanas|meses)|por (?:dias|semanas|meses)|(?:dia|noite) após (?:dia|noite)|(?:as|os|nas|nos) (?:semanas|dias|meses) seguintes",
    spaced: true,
};

const RUSSIAN: TimeWords = TimeWords {
    unit: "час(?:а|ов|ы)?|день|дня|дней|дни|сутки|суток|ноч(?:ь|и|ей)|недел\\w*|месяц\\w*|год(?:а|ы)?|лет",
    many: "один|одна|два|две|три|четыре|пять|шесть|семь|восемь|девять|десять|несколько|пару|полтора|почти|целы[йе]|\\d+",
    pass: "прош(?:ёл|ел|ла|ло|ли)|проход(?:ит|ят)|минова\\w+|пролет\\w+|пролета\\w+|прота?щ\\w+|тян(?:утся|улись|ется|улась)",
    later: "спустя|через|позже|потом",
    part: "рассвет\\w*|утр[оау]|полдень|полудн\\w+|вечер\\w*|сумер\\w+|закат\\w*|ноч(?:ь|и|ью)|полноч\\w*",
    season: "весн[ауы]|лет[оа]|осен[ьи]|зим[ауы]",
    come: "при(?:шла|шло|ходит|дёт)|наступ\\w+|наста[лё]\\w*|прош(?:ла|ло)|минова\\w+|конч\\w+|подош\\w+",
    journey: "дорог[аиуе]|пут[ьи]|переход\\w*|поездк\\w+|плавани\\w+|марш\\w*|перелёт\\w*|подъём\\w*|шли|идём|идут|ехал\\w*|едем|едут|плы[лвё]\\w+|скач\\w+|скакал\\w*|в пути|пешком",
    reach: "добра\\w+|добира\\w+|доеха\\w+|дош\\w+|прибы\\w+|показ\\w+|появ\\w+|останов\\w+|остан[аё]вл\\w+|приеха\\w+|находят|нашли",
    until: "до|пока",
    only: "(?:только|лишь|уже) (?:к|под|в|на|после)|не раньше",
    already: "уже|почти|совсем",
    when: "когда|пока|едва",
    dawns: "стемнело|темнеет|смеркается|смерклось|рассвело|светает|рассветает|(?:спустилась|опускается|опустилась) ночь|солнце (?:встаёт|взошло|село|садится|зашло)",
    wakes: "(?:меня|тебя|его|её|нас|вас|их) (?:будит|будят|разбудил\\w*)|(?:раз)?буд(?:ит|ят|ил\\w*) (?:меня|тебя|его|её|нас|вас|их)|(?:снова |опять )?откры(?:ва)?\\w+ глаза",
    on_end: "(?:несколько|много) (?:часов|дней|недель|месяцев) подряд|день за днём|ночь за ночью|неделями|целыми днями",
    spaced: true,
};

const JAPANESE: TimeWords = TimeWords {
    unit: "時間|日間?|晩|週間?|か月|ヶ月|カ月|ヵ月|年間?",
    many: "[一二三四五六七八九十百数何半\\d]+",
    pass: "過ぎ|経[っちつ]|たった|流れ",
    later: "後|のち|ぶり",
    part: "夜明け|日の出|朝|昼|正午|夕方|夕暮れ|日没|日暮れ|日が暮れ|夜|深夜|真夜中",
    season: "[春夏秋冬]|季節|桜|梅雨",
    come: "来|訪れ|過ぎ|終わ|巡[っり]|明け|なった|なって",
    journey: "揺られ|歩[きいけ]|旅|道のり|走[らりっ]|馬車|列車|電車|船|車|山道|登[りっ]",
    reach: "着[いくき]|到着|見えて|たどり着|停ま|止ま|降り",
    until: "まで",
    only: "ようやく|やっと|になって",
    already: "もう|すっかり|すでに|とっくに",
    when: "頃には|ころには|時には|と、",
    dawns: "日が(?:暮れ|沈|昇)|夜が(?:明け|更け|来)|陽が(?:落ち|沈|昇)|暗くなっ|明るくなっ|空が白み",
    wakes: "(?:に|で)(?:起こされ|目を覚ま|目が覚め)|目を(?:開け|あけ)ると|気がつくと",
    on_end: "何(?:日|週間|か月|ヶ月)も|来る日も|数日の間|連日",
    spaced: false,
};

const CHINESE: TimeWords = TimeWords {
    unit: "个?小时|个?时辰|天|日|夜|个?星期|周|个?月|年",
    many: "[一二三四五六七八九十百两几数半\\d]+|好几|整整一?",
    pass: "过去|过了|转眼|流逝|一晃",
    later: "之后|以后|后|过后",
    part: "天亮|黎明|清晨|早[上晨]|中午|正午|下午|傍晚|黄昏|日落|天黑|晚上|入夜|夜里|半夜|深夜|午夜",
    season: "[春夏秋冬](?:天|季|日)?|年关",
    come: "来了|到了|过去|将尽|转眼|入|已[至深]",
    journey: "颠簸|赶路|路程|走|骑|车|船|马|飞|跋涉|行军|翻山|航行",
    reach: "到达|抵达|到了|来到|出现|停下|停在|找到|望见|看见",
    until: "直到|到",
    only: "才|终于",
    already: "已经|已|早已",
    when: "的时候|时[，,]",
    dawns: "天(?:色)?(?:已经?|早已|渐渐|完全|蒙蒙)?(?:大亮|黑了|亮了|黑透|暗了|暗下来|黑下来)|太阳(?:已经|已)?(?:落山|下山|升起|西沉)|夜幕(?:降临|落下)|华灯初上",
    wakes: "(?:吵|惊|叫|唤|冻|疼|弄)醒|(?:再|重新|再次)睁开眼",
    on_end: "一连(?:几|好几|数|[两三四五六七八九十])(?:天|日|个?月|夜|周|个?星期)|接连(?:几|数)(?:天|日|夜)|接下来的(?:几|数)?(?:天|日|个?月|周|个?星期)|日复一日",
    spaced: false,
};

/// All languages.
const ALL: [&TimeWords; 8] =
    [&ENGLISH, &GERMAN, &FRENCH, &SPANISH, &PORTUGUESE, &RUSSIAN, &JAPANESE, &CHINESE];

/// A language's patterns. Each is small: as one pattern, the rules would be too large to compile.
struct TimePatterns {
    unit: Regex,
    span: Regex,
    /// A number of units that is over.
    span_later: Regex,
    pass: Regex,
    part: Regex,
    season: Regex,
    /// A sentence that begins with a season that comes or goes.
    season_comes: Option<Regex>,
    moves: Regex,
    journey: Regex,
    until: Regex,
    until_part: Regex,
    only_part: Regex,
    already_part: Regex,
    when: Regex,
    dawns: Regex,
    wakes: Regex,
    on_end: Regex,
    /// How far apart words may be that belong together, and those of one sentence.
    near: usize,
    far: usize,
}

impl TimePatterns {
    fn of(words: &TimeWords) -> Self {
        let one = |words_: &str| {
            if words.spaced { format!(r"\b(?:{words_})\b") } else { format!("(?:{words_})") }
        };
        let regex = |source: String| pattern(&format!("(?i){source}"));
        let gap = if words.spaced { r"(?: \p{L}+)? " } else { "" };
        let span = format!("{}{gap}{}", one(words.many), one(words.unit));
        let later = one(words.later);
        let (part, already) = (one(words.part), one(words.already));
        let season = one(words.season);
        // In Japanese and Chinese, words for seasons and for coming are part of other words.
        let season_comes = words
            .spaced
            .then(|| regex(format!(r"^\W*(?:\p{{L}}{{1,4}}['’ ]?)?{season} {}", one(words.come))));
        let (near, far) = if words.spaced { (14, 50) } else { (4, 14) };
        Self {
            unit: regex(one(words.unit)),
            span_later: regex(if words.spaced {
                format!("{span} {later}|{later} {span}")
            } else {
                format!("{span}{later}")
            }),
            span: regex(span),
            pass: regex(one(words.pass)),
            season: regex(season),
            season_comes,
            moves: regex(one(&format!("{}|{}", words.journey, words.reach))),
            journey: regex(one(words.journey)),
            until: regex(one(words.until)),
            until_part: regex(if words.spaced {
                format!("{}.{{0,10}}{part}", one(words.until))
            } else {
                format!("{part}.{{0,3}}{0}|{0}.{{0,3}}{part}", one(words.until))
            }),
            only_part: regex(format!("{}.{{0,10}}{part}", one(words.only))),
            already_part: regex(format!("{already}.{{0,10}}(?:{part}|{})", words.dawns)),
            part: regex(part),
            when: regex(one(words.when)),
            dawns: regex(one(words.dawns)),
            wakes: regex(one(words.wakes)),
            on_end: regex(one(words.on_end)),
            near,
            far,
        }
    }

    fn sign(&self, sentence: &str) -> SceneSign {
        let (near, far) = (self.near, self.far);
        let together =
            |one: &Regex, other: &Regex, apart: usize| are_near(sentence, one, other, apart);
        let is = |one: &Regex| one.is_match(sentence);
        // "It is already dark when they are done."
        let is_late = || together(&self.when, &self.already_part, 2 * far);
        let is_clear = is(&self.dawns)
            || is(&self.wakes)
            // "A month later."
            || is(&self.span_later)
            // "Weeks pass." "Months have gone by since."
            || together(&self.unit, &self.pass, near)
            // "The summer went."
            || together(&self.season, &self.pass, near)
            || self.season_comes.as_ref().is_some_and(is)
            // "The crossing takes almost a week." "It took two days on foot."
            || together(&self.span, &self.journey, far)
            // "It takes until nightfall to reach the tower."
            || together(&self.until_part, &self.moves, far)
            // "Only towards noon the castle comes into sight."
            || together(&self.only_part, &self.moves, far)
            // "For days nobody speaks of it, until …"
            || together(&self.on_end, &self.until, 2 * far)
            || is_late();
        if is_clear {
            return SceneSign::Clear;
        }
        let may_be = [&self.until_part, &self.already_part, &self.only_part, &self.on_end];
        let is_doubtful = may_be.into_iter().any(is) || together(&self.part, &self.when, near);
        if is_doubtful { SceneSign::Doubtful } else { SceneSign::Absent }
    }
}

/// Whether two patterns are found at most so many letters apart, in any order.
fn are_near(sentence: &str, one: &Regex, other: &Regex, apart: usize) -> bool {
    one.find_iter(sentence).any(|a| {
        other.find_iter(sentence).any(|b| {
            let between = if a.end() <= b.start() {
                a.end()..b.start()
            } else if b.end() <= a.start() {
                b.end()..a.start()
            } else {
                return false;
            };
            sentence[between].chars().count() <= apart
        })
    })
}

static PATTERNS: LazyLock<Vec<TimePatterns>> =
    LazyLock::new(|| ALL.into_iter().map(TimePatterns::of).collect());

/// What a sentence of the narration says about the time that passed.
pub(super) fn told_time(sentence: &str) -> SceneSign {
    let mut sign = SceneSign::Absent;
    for language in PATTERNS.iter() {
        match language.sign(sentence) {
            SceneSign::Clear => return SceneSign::Clear,
            SceneSign::Doubtful => sign = SceneSign::Doubtful,
            SceneSign::Absent => {}
        }
    }
    sign
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_rules_apply_in_all_languages() {
        use SceneSign::{Absent, Clear};
        for (text, expected) in [
            ("The march took three days.", Clear),
            ("Der Marsch dauerte drei Tage.", Clear),
            ("La marche a pris trois jours.", Clear),
            ("La marcha duró tres días.", Clear),
            ("A marcha durou três dias.", Clear),
            ("Дорога заняла три дня.", Clear),
            ("歩いて三日、谷に出た。", Clear),
            ("走了三天，山谷才出现。", Clear),
            ("Winter passed.", Clear),
            ("Der Winter verging.", Clear),
            ("L'hiver passa.", Clear),
            ("El invierno pasó.", Clear),
            ("O inverno passou.", Clear),
            ("Прошла зима.", Clear),
            ("We march on.", Absent),
            ("Sie trägt den Wintermantel.", Absent),
            ("Il passe la porte.", Absent),
            ("El camino es largo.", Absent),
            ("Зимний плащ висит у двери.", Absent),
            ("冬の匂いがする。", Absent),
        ] {
            assert_eq!(told_time(text), expected, "{text}");
        }
    }
}
