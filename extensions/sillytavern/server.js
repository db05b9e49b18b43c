// Calls to Loreloom's API, and the words for what goes wrong with them.
import { settings } from './settings.js';

const ROOT = '/api/v1';

/** Why a call has no answer. `code` is `unreachable`, `local_network`, `certificate`, `origin`,
 * `mixed`, `key`, `late` or one of the server's own codes. */
export class ServerError extends Error {
  constructor(code, message, status = 0) {
    super(message);
    this.code = code;
    this.status = status;
  }
}

/** The address of Loreloom without a slash at its end. */
export function base() {
  return settings().url.trim().replace(/\/+$/, '');
}

/** A part of an address. */
export const part = encodeURIComponent;

/**
 * Calls the API and gives its answer.
 * @param {string} method The HTTP method
 * @param {string} path The path below the API's root
 * @param {{body?: unknown, raw?: BodyInit, signal?: AbortSignal, isBlob?: boolean}} [options] What
 * to send, and whether the answer is a file
 */
export async function call(method, path, { body, raw, signal, isBlob = false } = {}) {
  const headers = {};
  const { key } = settings();
  if (key) headers['X-Loreloom-Key'] = key;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  else if (raw !== undefined) headers['Content-Type'] = 'application/octet-stream';
  let response;
  try {
    response = await fetch(`${base()}${ROOT}${path}`, {
      method,
      headers,
      body: body === undefined ? raw : JSON.stringify(body),
      signal,
      credentials: 'omit',
      // What is read must be new. Nothing else is kept in a cache, and `no-store` would also keep
      // Chromium from remembering that this page may ask: it would ask beforehand each time.
      cache: method === 'GET' ? 'no-store' : 'default',
    });
  } catch (error) {
    if (signal?.aborted) throw new ServerError('late', String(signal.reason?.message ?? error));
    throw new ServerError('unreachable', error.message);
  }
  if (response.ok && isBlob) return response.blob();
  if (response.ok) {
    const type = response.headers.get('content-type') ?? '';
    return type.includes('json') ? response.json() : response.text();
  }
  const problem = await response.json().catch(() => ({}));
  const code = response.status === 401 ? 'key' : (problem.code ?? 'failed');
  throw new ServerError(code, problem.detail ?? response.statusText, response.status);
}

/** How private an address is: 2 for the browser's own machine, 1 for a local network, else 0. */
function privacyOf(host) {
  if (/^(localhost|127\.[\d.]+|\[::1\])$|\.localhost$/.test(host)) return 2;
  const isLocal =
    /^(10\.|192\.168\.|169\.254\.|172\.(1[6-9]|2\d|3[01])\.)|^\[f[cde]|\.(local|lan|home|internal)$/;
  // A name without a point is one of a local network.
  return isLocal.test(host) || !/[.:]/.test(host) ? 1 : 0;
}

/**
 * Why nobody can be reached at an address, as far as a page can know: browsers hide it.
 * @param {{protocol: string, hostname: string}} page The location of the page
 * @param {string} address The address of Loreloom
 */
export function whyUnreachable(page, address) {
  const { protocol, hostname } = new URL(address);
  // A page may not call a machine that is nearer to the browser than its own server.
  if (privacyOf(hostname) > privacyOf(page.hostname)) return 'local_network';
  return protocol === 'https:' ? 'certificate' : 'unreachable';
}

/** Whether a browser refuses to call this address from this page. */
export function isMixedContent(page, address) {
  let url;
  try {
    url = new URL(address);
  } catch {
    return false;
  }
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  return page === 'https:' && url.protocol === 'http:' && !isLocal;
}

/**
 * Finds out what is wrong with the connection, if anything.
 * @returns {Promise<{code: string, detail?: string, health?: object}>} `ok`, or a code of
 * `ServerError`
 */
export async function diagnose(signal = AbortSignal.timeout(4000)) {
  if (!URL.canParse(base())) return { code: 'address', detail: base() };
  if (isMixedContent(location.protocol, base())) return { code: 'mixed', detail: base() };
  try {
    return { code: 'ok', health: await call('GET', '/health', { signal }) };
  } catch (error) {
    if (error.code !== 'unreachable')
      return { code: error.code === 'late' ? 'unreachable' : error.code, detail: error.message };
    // A browser hides why a call failed. One that wants no answer goes through if somebody is
    // there, so the server is up and does not know this page.
    try {
      await fetch(`${base()}/health`, { mode: 'no-cors', signal, cache: 'no-store' });
      return { code: 'origin', detail: location.origin };
    } catch {
      return { code: whyUnreachable(location, base()), detail: base() };
    }
  }
}

/** The address and key of a pairing code, which is Loreloom's address with the key behind `#`. */
export function readPairing(code) {
  const text = code.trim();
  const at = text.indexOf('#');
  const [url, key] = at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)];
  if (!/^https?:\/\/\S+$/.test(url) || (key && !/^ll_[0-9a-f]+$/.test(key))) return null;
  return { url: url.replace(/\/+$/, ''), key };
}
