// Which key of a World Info entry was found, and in which message. SillyTavern forgets it.

/** The regular expression of a key like `/a|b/i`; `null` if it is plain text. */
export function regexOf(key) {
  const found = /^\/([\s\S]+?)\/([gimsuy]*)$/.exec(key);
  // A slash inside must be escaped, or the key is no expression.
  if (!found || /(^|[^\\])\//.test(found[1])) return null;
  try {
    return new RegExp(found[1].replaceAll('\\/', '/'), found[2].replaceAll('g', ''));
  } catch {
    return null;
  }
}

const escaped = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** Whether a text holds a key, by SillyTavern's rules. */
export function holds(text, key, { caseSensitive = false, wholeWords = false } = {}) {
  const expression = regexOf(key);
  if (expression) return expression.test(text);
  const [haystack, needle] = caseSensitive ? [text, key] : [text.toLowerCase(), key.toLowerCase()];
  if (wholeWords && !/\s/.test(needle))
    return new RegExp(`(?:^|\\W)(${escaped(needle)})(?:$|\\W)`).test(haystack);
  return haystack.includes(needle);
}

const PHASES = { 1: 'initial', 2: 'recursion', 3: 'min_activations' };
const PLACES = [
  'before_character',
  'after_character',
  'note_top',
  'note_bottom',
  'at_depth',
  'before_examples',
  'after_examples',
  'outlet',
];
const ROLES = ['system', 'user', 'assistant'];
const SOURCES = {
  matchPersonaDescription: 'persona',
  matchCharacterDescription: 'description',
  matchCharacterPersonality: 'personality',
  matchCharacterDepthPrompt: 'depth_prompt',
  matchScenario: 'scenario',
  matchCreatorNotes: 'creator_notes',
};

/** The rule that let an entry in. */
function activation(entry, found, isSticky) {
  if (entry.decorators?.includes('@@activate')) return 'decorator';
  if (entry.constant) return 'constant';
  if (isSticky) return 'sticky';
  return found ? 'key' : 'forced';
}

/**
 * What is known about an activated entry, by the names that wrappers use.
 * @param {object} entry SillyTavern's entry
 * @param {object} scan `{phase, iteration, depth, messages, card, earlier, options, expand, sticky}`:
 * `messages` are `{text, role, index}`, newest first; `earlier` are the entries of earlier passes
 */
export function triggerOf(entry, scan) {
  const { messages, earlier, card, expand = (key) => key } = scan;
  const options = {
    caseSensitive: entry.caseSensitive ?? scan.options.caseSensitive,
    wholeWords: entry.matchWholeWords ?? scan.options.wholeWords,
  };
  const depth = entry.scanDepth ?? scan.depth;
  const window = messages.slice(0, depth);
  const texts = Object.entries(SOURCES)
    .filter(([flag, source]) => entry[flag] && card[source])
    .map(([, source]) => [source, card[source]]);
  const inText = (key, text) => holds(text, expand(key).trim(), options);
  const hits = (key) => ({
    messages: window.filter((message) => inText(key, message.text)),
    sources: texts.filter(([, text]) => inText(key, text)).map(([source]) => source),
    parents: earlier.filter((other) => other !== entry && inText(key, other.content)),
  });
  const isHit = (found) => found.messages.length + found.sources.length + found.parents.length > 0;
  const keys = (entry.key ?? []).filter((key) => expand(key).trim());
  const key = keys.find((one) => isHit(hits(one)));
  const found = key === undefined ? null : hits(key);
  const secondary = (entry.keysecondary ?? []).filter((one) => one && isHit(hits(one)));
  const parents = found && !found.messages.length ? found.parents : [];
  const isAtDepth = entry.position === 4;
  const sources = found ? [...(found.messages.length ? ['message'] : []), ...found.sources] : [];
  if (parents.length) sources.push('entry');
  const fields = {
    uid: String(entry.uid),
    name: entry.comment ?? '',
    world: entry.world ?? '',
    key: key ?? '',
    expanded_key: key !== undefined && expand(key) !== key ? expand(key) : '',
    secondary: entry.selective === false ? [] : secondary,
    scan: PHASES[scan.phase] ?? '',
    scan_depth: String(depth),
    iteration: String(scan.iteration),
    activation: activation(entry, found, scan.sticky),
    source: sources,
    matched_in: found?.messages.map((message) => String(message.index)).sort(byNumber) ?? [],
    triggered_by: [...new Set(found?.messages.map((message) => message.role) ?? [])].sort(),
    parents: parents.map((parent) => `${parent.world}/${parent.uid}`),
    via_recursion: String(parents.length > 0),
    constant: String(Boolean(entry.constant)),
    sticky: String(Boolean(scan.sticky)),
    position: PLACES[entry.position] ?? '',
    depth: isAtDepth ? String(entry.depth ?? 4) : '',
    role: isAtDepth ? (ROLES[entry.role ?? 0] ?? 'system') : '',
    order: String(entry.order ?? ''),
    chat_length: String(messages.length),
  };
  const isThere = ([, value]) => (Array.isArray(value) ? value.length : value !== '');
  return Object.fromEntries(Object.entries(fields).filter(isThere));
}

const byNumber = (one, other) => Number(one) - Number(other);
