// Pairing with a page in another tab: whose it is, and the way back to it.

/** The origin of an address; `null` if it is none of the web. */
export function originOf(address: string): string | null {
  if (!URL.canParse(address.trim())) return null;
  const { protocol, origin } = new URL(address.trim());
  return protocol === 'http:' || protocol === 'https:' ? origin : null;
}

/**
 * The address to come back to; `null` if there is none. The key goes there, so it must be on the
 * page that the key is for.
 */
export function backTo(origin: string | null, path: string): string | null {
  if (!origin || !path.startsWith('/')) return null;
  const url = new URL(path, origin);
  return url.origin === origin ? url.origin + url.pathname : null;
}
