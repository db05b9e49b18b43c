// The models of all connections, under names that lead to them.
import { key } from './key';

interface Listed {
  data?: { id?: string; owned_by?: string }[];
}

async function listed(): Promise<{ id: string; owner: string }[]> {
  const response = await fetch('/v1/models', { headers: key.headers }).catch(() => null);
  if (!response?.ok) return [];
  const { data } = (await response.json()) as Listed;
  return (data ?? []).flatMap((one) => (one.id ? [{ id: one.id, owner: one.owned_by ?? '' }] : []));
}

export const models = async (): Promise<string[]> => (await listed()).map((one) => one.id);

/** A model of a connection, by a name that leads there. */
export async function modelOf(connection: string): Promise<string | null> {
  const all = await listed();
  const own = all.find((one) => one.owner === connection || one.id.startsWith(`${connection}/`));
  return own?.id ?? null;
}
