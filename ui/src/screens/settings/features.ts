// What a connection is used for, and where its key is kept.
import { tagged, write } from '../../api/client';
import type { FeatureChoice, Features, Routes, Wrote } from '../../api/types';
import { t } from '../../lib/i18n.svelte';

export const FEATURES = ['writer', 'extractor', 'selector', 'embedder'] as const;
export type Feature = (typeof FEATURES)[number];

const named = (choice: FeatureChoice | null | undefined): string | null =>
  choice == null ? null : typeof choice === 'string' ? choice : choice.connection;

/** What a connection is used for now. */
export function usesOf(connection: string, routes: Routes | null): Feature[] {
  if (!routes) return [];
  const { writer, features } = routes.effective;
  return FEATURES.filter((name) =>
    name === 'writer' ? writer === connection : named(features[name]) === connection,
  );
}

/** Uses a connection for these things and no others. Gives the undo if anything changed. */
export async function useFor(connection: string, chosen: Set<Feature>): Promise<string | null> {
  const { body, tag } = await tagged<Routes>('/routes', {});
  const now = usesOf(connection, body);
  const features: Features = { ...body.set.features };
  for (const name of FEATURES) {
    if (chosen.has(name) && !now.includes(name)) features[name] = connection;
    if (!chosen.has(name) && named(features[name]) === connection) features[name] = null;
  }
  if (JSON.stringify(features) === JSON.stringify(body.set.features ?? {})) return null;
  const wrote = await write<Wrote<Routes>>(
    'PUT',
    '/routes',
    { routes: body.set.routes ?? [], features },
    { tag },
  );
  return wrote.undo ?? null;
}

/** Where a key is kept, in words. */
export function keyWords(source: string): string {
  const [kind, rest] = [source.split(':', 1)[0], source.slice(source.indexOf(':') + 1)];
  switch (kind) {
    case 'keyring':
      return t('conn.key.keyring', { name: rest });
    case 'file':
      return t('conn.key.file', { path: rest });
    case 'env':
      return t('conn.key.env', { name: rest });
    case "the front end's":
      return t('conn.key.front');
    case "the front end's, held in memory":
      return t('conn.key.held');
    default:
      return source;
  }
}
