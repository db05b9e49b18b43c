// What moved in: the things of SillyTavern with their counterparts in Loreloom, so that moving out
// finds them again.
import { hash } from './peers.js';
import { change, settings } from './settings.js';

/** An id in Loreloom from a name. */
export function idOf(name) {
  const plain = name
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-');
  return `st-${plain.replace(/^-+|-+$/g, '').slice(0, 60) || hash(name)}`;
}

/** What moved in, by kind: `cards` by avatar, `groups` by id, `chats` by their id in Loreloom. */
export const moved = (kind) => settings().moved[kind] ?? {};

/** Notes that something moved in. */
export function noteMoved(kind, name, facts) {
  const all = settings().moved;
  change({ moved: { ...all, [kind]: { ...all[kind], [name]: facts } } });
}

/** Sends something to SillyTavern's own server. */
export async function ask(context, path, body, { isForm = false } = {}) {
  const headers = context.getRequestHeaders(isForm ? { omitContentType: true } : undefined);
  const response = await fetch(path, {
    method: 'POST',
    headers,
    body: isForm ? body : JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`SillyTavern ${path}: ${response.status}`);
  return response;
}
