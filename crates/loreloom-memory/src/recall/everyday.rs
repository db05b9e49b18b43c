//! Words of everyday life, mostly English.
//!
//! A short story has too few words to show which of them are common. These are: that a turn and
//! a passage share one of them says little.

use super::stem::stem;

/// Sorted.
#[rustfmt::skip]
const WORDS: &[&str] = &[
    "able", "afraid", "again", "ago", "air", "alone", "already", "always", "arm", "arms", "arrive",
    "ask", "asleep", "away", "back", "bad", "bag", "beautiful", "become", "bed", "begin", "believe",
    "better", "big", "bit", "body", "book", "boy", "bread", "breath", "breathe", "bring", "brother",
    "build", "buy", "call", "calm", "care", "careful", "carry", "catch", "chair", "change", "check",
    "child", "clean", "clear", "close", "clothes", "coat", "coffee", "cold", "come", "cook", "cool",
    "corner", "count", "course", "cry", "cup", "cut", "dance", "dark", "day", "dead", "dear",
    "deep", "dinner", "dog", "door", "dream", "dress", "drink", "drive", "drop", "dry", "ear",
    "early", "eat", "else", "end", "enough", "evening", "ever", "everybody", "everyone",
    "everything", "eye", "eyes", "face", "fact", "fall", "family", "far", "fast", "father", "feel",
    "few", "fine", "finger", "fire", "first", "floor", "follow", "food", "foot", "forget",
    "forward", "friend", "front", "full", "fun", "funny", "game", "garden", "get", "girl", "give",
    "glad", "glass", "go", "good", "goodbye", "great", "grin", "guess", "guy", "hair", "half",
    "hand", "hands", "happen", "happy", "hard", "hat", "have", "head", "hear", "heart", "heavy",
    "hello", "help", "hey", "high", "hold", "home", "hope", "hot", "hour", "house", "hungry",
    "hurry", "hurt", "husband", "idea", "job", "join", "joke", "keep", "kid", "kill", "kind",
    "kiss", "kitchen", "knife", "knock", "know", "lady", "large", "last", "late", "laugh", "lean",
    "learn", "leave", "left", "leg", "let", "letter", "lie", "life", "light", "like", "line", "lip",
    "listen", "little", "live", "long", "look", "lose", "lot", "love", "low", "lunch", "make",
    "man", "many", "matter", "maybe", "mean", "meet", "mind", "minute", "miss", "moment", "money",
    "month", "mood", "morning", "mother", "mouth", "move", "much", "music", "must", "name", "near",
    "neck", "need", "never", "new", "nice", "night", "nod", "noise", "nothing", "number", "often",
    "ok", "okay", "old", "open", "order", "page", "pain", "paper", "part", "pass", "pay", "people",
    "perfect", "person", "phone", "pick", "piece", "place", "plan", "play", "please", "poor",
    "pour", "press", "pretty", "promise", "pull", "push", "put", "question", "quick", "quiet",
    "quite", "rain", "raise", "reach", "read", "ready", "real", "really", "red", "remember",
    "reply", "rest", "return", "rich", "ride", "right", "ring", "road", "room", "round", "run",
    "sad", "safe", "salt", "same", "save", "say", "scare", "seat", "second", "see", "seem", "send",
    "shake", "share", "ship", "shirt", "shoe", "shop", "short", "shoulder", "show", "shrug", "shut",
    "sick", "side", "sigh", "sign", "silence", "simple", "sing", "sister", "sit", "skin", "sky",
    "sleep", "slow", "small", "smell", "smile", "snow", "soft", "somebody", "someone", "something",
    "song", "soon", "sorry", "sort", "sound", "speak", "spend", "stand", "star", "stare", "start",
    "stay", "step", "still", "stop", "story", "straight", "strange", "street", "strong", "stuff",
    "sun", "sure", "sweet", "swim", "table", "take", "talk", "tall", "taste", "tea", "teach",
    "tell", "thank", "thanks", "thing", "think", "throw", "tie", "time", "tired", "today",
    "together", "tomorrow", "tonight", "tooth", "top", "touch", "town", "travel", "tree", "trip",
    "true", "trust", "try", "turn", "understand", "use", "usual", "very", "view", "visit", "voice",
    "wait", "wake", "walk", "wall", "want", "warm", "watch", "water", "way", "wear", "weather",
    "week", "weekend", "welcome", "well", "wet", "whisper", "white", "whole", "wife", "wind",
    "window", "wine", "winter", "wish", "woman", "wonder", "wood", "word", "work", "world", "worry",
    "write", "wrong", "year", "yell", "yes", "yesterday", "young",
];

/// Words of greetings and of the time of day in other languages, and what every scene has. Sorted.
#[rustfmt::skip]
const FOREIGN: &[&str] = &[
    "abend", "aller", "auge", "augen", "aujourd", "bitte", "bonjour", "bonsoir", "cabeza",
    "cabeça", "chá", "ciao", "cześć", "danke", "dia", "drzwi", "dzień", "dzisiaj", "dziękuję",
    "dziś", "día", "días", "fenster", "fenêtre", "finestra", "gehen", "giorno", "gracias",
    "grazie", "głowa", "hallo", "hand", "herbata", "heute", "hoje", "hola", "hoy", "hände",
    "janela", "jour", "komm", "kopf", "lächeln", "lächle", "main", "mains", "manhã", "mani",
    "mano", "manos", "matin", "mattina", "mañana", "merci", "mesa", "morgen", "mão", "mãos",
    "nacht", "nicken", "noc", "noche", "noite", "notte", "nuit", "obrigada", "obrigado", "occhi",
    "oczy", "oggi", "ojos", "okno", "olhos", "olá", "porta", "porte", "puerta", "rano", "ręka",
    "sehen", "sera", "soir", "sonrisa", "sorriso", "sourire", "stasera", "stół", "table", "tag",
    "tarde", "tavolo", "tee", "testa", "thé", "tisch", "tè", "té", "tête", "tür", "venir",
    "ventana", "voir", "wieczorem", "wieczór", "yeux", "вечер", "вечером", "глаза", "голова",
    "дверь", "день", "ночь", "окно", "привет", "рука", "руки", "сегодня", "спасибо", "стол",
    "утро", "утром", "чай", "あり", "お茶", "がと", "りが", "今夜", "今天", "今日", "今晚", "今朝", "你好", "元気",
    "散步", "早上", "明天", "明日", "晚上", "窗外", "谢谢", "고마", "마워", "아침", "안녕", "오늘", "저녁",
];

/// Whether a lower-case word is a word of everyday life, in any form.
pub(super) fn is_everyday(word: &str) -> bool {
    let is_listed = |word: &str| WORDS.binary_search(&word).is_ok();
    if is_listed(word) || FOREIGN.binary_search(&word).is_ok() {
        return true;
    }
    // A stem lacks the last letter of some words, and has another one in others.
    let stem = stem(word);
    is_listed(&stem)
        || is_listed(&format!("{stem}e"))
        || stem.strip_suffix('i').is_some_and(|start| is_listed(&format!("{start}y")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_listed_word_are_found() {
        assert!(WORDS.is_sorted() && FOREIGN.is_sorted());
        for (word, expected) in [
            ("walk", true),
            ("walked", true),
            ("smiling", true),
            ("hurries", true),
            ("whistle", false),
            ("foxglove", false),
        ] {
            assert_eq!(is_everyday(word), expected, "{word}");
        }
    }
}
