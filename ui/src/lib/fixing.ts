// Ways to make an entry fire: tried on all stories, applied, and written down as a test.
import { get, part, tagged, write } from '../api/client';
import type { EntryView, FixOption, Path, Run, Scene, Wrote } from '../api/types';
import { keepEntryDraft } from './entryDrafts';
import { patched } from './fields';
import { replay, type LorePatch } from './replaying';
import { asYaml } from './yaml';

/** A way as a replay tries it; null if it changes nothing that a replay can try. */
export function trialOf(way: FixOption, entry: string): LorePatch | null {
  if (way.target === 'entry' || way.target === 'both' || way.target === 'settings')
    return {
      ...(Object.keys(way.entry).length ? { entries: { [entry]: way.entry } } : {}),
      ...(Object.keys(way.rules).length ? { rules: way.rules } : {}),
    };
  return null;
}

/** Replays all stories with a way. */
export const tried = (patch: LorePatch, told: (run: Run) => void): Promise<Run> =>
  replay({ patch }, told);

/** Whether a way can be saved by one click. */
export const canApply = (way: FixOption, isEditable: boolean): boolean => {
  if (way.target === 'scene') return true;
  if (way.target === 'settings') return Object.keys(way.settings).length > 0;
  if (way.target === 'both') return isEditable && Object.keys(way.settings).length > 0;
  return way.target === 'entry' && isEditable;
};

/** The scene with the changes that a way asks for. */
function sceneOf(scene: Scene, way: FixOption, title: string): Partial<Scene> {
  const patch: Partial<Scene> = {};
  for (const change of way.changes) {
    if (change.change === 'pin')
      patch.pins = [...(patch.pins ?? scene.pins), ...change.titles.map((one) => ({ title: one }))];
    if (change.change === 'unblock')
      patch.blocks = scene.blocks.filter((one) => one.title.toLowerCase() !== title.toLowerCase());
    if (change.change === 'look_into')
      patch.folders = [...(patch.folders ?? scene.folders), change.folder];
    if (change.change === 'scene') {
      const fields = { ...patch.fields, [change.field]: change.values };
      patch.fields = fields as unknown as Scene['fields'];
    }
  }
  return patch;
}

/** Saves a way. Returns what takes each of its writes back, the newest last. */
export async function apply(
  way: FixOption,
  { chat, entry, title }: { chat: string; entry: string; title: string },
): Promise<string[]> {
  const undo: (string | null | undefined)[] = [];
  if (Object.keys(way.settings).length) {
    const wrote = await write<Wrote<unknown>>('PATCH', '/settings', way.settings);
    undo.push(wrote.undo);
  }
  if (Object.keys(way.entry).length) {
    const path = `/lore/entries/${part(entry)}`;
    const { tag } = await tagged<EntryView>(path);
    undo.push((await write<Wrote<EntryView>>('PATCH', path, way.entry, { tag })).undo);
  }
  if (way.target === 'scene') {
    const path = `/chats/${part(chat)}/scene`;
    const scene = await tagged<Scene>(path);
    const body = sceneOf(scene.body, way, title);
    undo.push((await write<Wrote<Scene>>('PATCH', path, body, { tag: scene.tag })).undo);
  }
  return undo.filter((one) => one != null);
}

/** Puts a way into the editor as unsaved changes. */
export async function intoDraft(way: FixOption, entry: string): Promise<void> {
  const { body, tag } = await tagged<EntryView>(`/lore/entries/${part(entry)}`);
  if (!body.entry) return;
  keepEntryDraft(entry, { tag, base: body.entry, mine: patched(body.entry, way.entry) });
}

/** How many messages a test made from a turn holds. */
const TOLD = 20;

/** A test that expects an entry to fire at the end of a path. */
export async function testThat(
  { chat, tip, speaker }: { chat: string; tip: string; speaker: string | null },
  entry: string,
  name: string,
): Promise<string> {
  const path = await get<Path>(`/chats/${part(chat)}/path`, { tip, limit: TOLD });
  const messages = path.messages.filter((one) => !one.hidden && one.role !== 'tool');
  return asYaml({ name, as: speaker, messages, fires: [entry], doesNotFire: [] });
}
