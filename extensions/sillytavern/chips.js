// The line under a reply: what was woven into its prompt.
import { el } from './dom.js';
import { settings } from './settings.js';
import { inPrompt, recordOf } from './woven.js';
import { placeWord, whyWords } from './reasons.js';
import { say, sourceWord, stateWord, titleWord } from './words.js';

/** The most chips that are shown before "+n". */
const MOST = 8;
const CODES = { lorebook: 'Bk', vault: 'Va', memory: 'Fa', note: 'Ca' };

/** One text of a turn. */
export function chip(thread, woven) {
  const title = titleWord(thread);
  const facts = [
    `${sourceWord(thread.kind)}: ${title}`,
    stateWord(thread.state),
    thread.tokens === null ? '' : say('{count} tokens', { count: thread.tokens }),
    placeWord(thread.place),
    whyWords(thread, woven),
  ];
  return el(
    'span',
    {
      class: `loreloom_chip loreloom_${thread.kind} loreloom_${thread.state}`,
      title: facts.filter(Boolean).join(' · '),
    },
    el('b', { class: 'loreloom_code', 'aria-hidden': 'true' }, CODES[thread.kind] ?? '··'),
    el('span', { dir: 'auto' }, title),
  );
}

function line(woven, open) {
  const shown = inPrompt(woven);
  const cut = woven.threads.length - shown.length;
  const chips = shown.slice(0, MOST).map((one) => chip(one, woven));
  if (shown.length > MOST) chips.push(el('span', {}, `+${shown.length - MOST}`));
  if (cut)
    chips.push(
      el(
        'span',
        { class: 'loreloom_chip loreloom_cut' },
        say('{count} without room', { count: cut }),
      ),
    );
  const label =
    woven.mode === 'watch'
      ? say('would be woven: {count}', { count: shown.length })
      : say('woven: {count}', { count: shown.length });
  return el(
    'div',
    { class: 'loreloom_chips' },
    el(
      'button',
      { type: 'button', class: 'loreloom_open', onclick: open, title: say('Show why') },
      label,
    ),
    ...chips,
  );
}

/**
 * Shows the chips of all replies that are on the page.
 * @param {object[]} chat SillyTavern's messages
 * @param {(index: number) => void} open Opens the drawer at a message
 */
export function showChips(chat, open) {
  for (const element of document.querySelectorAll('#chat .mes[mesid]')) {
    const index = Number(element.getAttribute('mesid'));
    const woven = settings().chips ? recordOf(chat[index]) : null;
    const old = element.querySelector('.loreloom_chips');
    const text = JSON.stringify(woven);
    if (old?.dataset.woven === text) continue;
    old?.remove();
    if (!woven) continue;
    const made = line(woven, () => open(index));
    made.dataset.woven = text;
    element.querySelector('.mes_text')?.after(made);
  }
}
