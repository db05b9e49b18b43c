// Calls of the REST API: JSON in and out, versions by ETag, failures as problems.
import { key } from '../lib/key';
import type { ProblemBody } from './types';

const ROOT = '/api/v1';

/** A refused or failed call. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly field?: string | null,
  ) {
    super(message);
  }

  /** Whether the server did not answer at all. */
  get isOffline(): boolean {
    return this.status === 0;
  }
}

/** An answer with the version that `If-Match` takes. */
export interface Tagged<T> {
  body: T;
  tag: string | null;
}

interface Known {
  tag: string;
  body: unknown;
}

/** Answers by address; asked for again with their tag, they cost no transfer. */
const known = new Map<string, Known>();
const MOST_KNOWN = 200;

function remember(address: string, tag: string, body: unknown): void {
  known.delete(address);
  known.set(address, { tag, body });
  const oldest = known.keys().next().value;
  if (known.size > MOST_KNOWN && oldest !== undefined) known.delete(oldest);
}

async function problem(response: Response): Promise<ApiError> {
  const text = await response.text();
  try {
    const body = JSON.parse(text) as ProblemBody & { error?: { code: string; message: string } };
    if (response.status === 401 && body.error) key.refused(body.error.code);
    if (body.error) return new ApiError(response.status, body.error.code, body.error.message);
    return new ApiError(response.status, body.code, body.detail, body.field);
  } catch {
    return new ApiError(response.status, 'failed', text || response.statusText);
  }
}

async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(address, { ...init, headers: { ...init.headers, ...key.headers } });
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw new ApiError(0, 'offline', error instanceof Error ? error.message : String(error));
  }
}

type Params = Record<string, string | number | boolean | null | undefined>;

/** A path with its query; parameters without a value are left out. */
export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '' && value !== false) {
      query.set(name, String(value));
    }
  }
  const text = query.toString();
  return `${ROOT}${path}${text ? `?${text}` : ''}`;
}

/** A part of a path: ids may hold slashes and anything else. */
export const part = (text: string): string => encodeURIComponent(text);

export async function tagged<T>(
  path: string,
  params?: Params,
  signal?: AbortSignal,
): Promise<Tagged<T>> {
  const url = address(path, params);
  const before = known.get(url);
  const headers: Record<string, string> = before ? { 'if-none-match': before.tag } : {};
  const response = await send(url, { headers, signal: signal ?? null });
  if (response.status === 304 && before) return { body: before.body as T, tag: before.tag };
  if (!response.ok) throw await problem(response);
  const body = (await response.json()) as T;
  const tag = response.headers.get('etag');
  if (tag) remember(url, tag, body);
  return { body, tag };
}

/** A text that is no JSON. */
export async function text(path: string, signal?: AbortSignal): Promise<string> {
  const response = await send(address(path), { signal: signal ?? null });
  if (!response.ok) throw await problem(response);
  return response.text();
}

/** A file of the server's, saved by the browser. With a key, a plain link would be refused. */
export async function download(path: string, name: string, params: Params = {}): Promise<void> {
  const response = await send(address(path, params), {});
  if (!response.ok) throw await problem(response);
  const named = /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '')?.[1];
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await response.blob());
  link.download = named ?? name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export async function get<T>(path: string, params?: Params, signal?: AbortSignal): Promise<T> {
  return (await tagged<T>(path, params, signal)).body;
}

export interface WriteOptions {
  /** The version the change was made on. */
  tag?: string | null;
  params?: Params;
}

export async function write<T>(
  method: 'POST' | 'PATCH' | 'PUT' | 'DELETE',
  path: string,
  body?: unknown,
  options: WriteOptions = {},
): Promise<T> {
  const headers: Record<string, string> = {};
  if (options.tag) headers['if-match'] = options.tag;
  const isRaw = body instanceof Blob;
  if (body !== undefined && !isRaw) headers['content-type'] = 'application/json';
  if (isRaw) headers['content-type'] = body.type || 'application/octet-stream';
  const response = await send(address(path, options.params), {
    method,
    headers,
    body: body === undefined ? null : isRaw ? body : JSON.stringify(body),
  });
  if (!response.ok) throw await problem(response);
  return (response.status === 204 ? undefined : await response.json()) as T;
}
