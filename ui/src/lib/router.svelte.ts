// Addresses: real paths, so that every view can be shared, reloaded and tested.

export interface Route {
  path: string;
  /** The path's parts, decoded. */
  parts: string[];
  query: URLSearchParams;
}

function parse(): Route {
  const { pathname, search } = window.location;
  const decode = (part: string): string => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  };
  const parts = pathname.split('/').filter(Boolean).map(decode);
  return { path: pathname, parts, query: new URLSearchParams(search) };
}

class Router {
  current = $state.raw<Route>(parse());
  /** Asks before a page with unsaved changes is left; `true` lets go. */
  guard: (() => boolean) | null = null;

  constructor() {
    window.addEventListener('popstate', () => {
      this.current = parse();
    });
    document.addEventListener('click', (event) => this.follow(event));
  }

  go(to: string, replace = false): void {
    const url = new URL(to, window.location.href);
    if (url.pathname !== window.location.pathname && this.guard && !this.guard()) return;
    window.history[replace ? 'replaceState' : 'pushState'](null, '', to);
    this.current = parse();
  }

  /** Changes parts of the query and stays where it is. */
  set(params: Record<string, string | null>, replace = true): void {
    const query = new URLSearchParams(window.location.search);
    for (const [name, value] of Object.entries(params)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.go(`${window.location.pathname}${text ? `?${text}` : ''}`, replace);
  }

  private follow(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest('a') : null;
    if (!link || link.target || link.hasAttribute('download')) return;
    const url = new URL(link.href, window.location.href);
    if (url.origin !== window.location.origin || url.pathname.startsWith('/api/')) return;
    if (url.hash && url.pathname === window.location.pathname) return;
    event.preventDefault();
    this.go(url.pathname + url.search);
  }
}

export const router = new Router();

const seg = encodeURIComponent;

/** A query of the values that are not empty. */
function search(values: Record<string, string>): string {
  const query = new URLSearchParams(Object.entries(values).filter(([, value]) => value));
  return query.size ? `?${query.toString()}` : '';
}

/** All addresses of the page, in one place. */
export const to = {
  story: (chat: string, message?: string) =>
    message ? `/c/${seg(chat)}/m/${message}` : `/c/${seg(chat)}`,
  tree: (chat: string) => `/c/${seg(chat)}/tree`,
  turn: (chat: string, turn: number, view = 'prompt') => `/c/${seg(chat)}/t/${turn}/${view}`,
  why: (chat: string, turn: number, entry: string) => `/c/${seg(chat)}/t/${turn}/why/${seg(entry)}`,
  memory: (chat: string, tier = '') => `/c/${seg(chat)}/memory${tier ? `/${tier}` : ''}`,
  character: (id: string) => `/characters/${seg(id)}`,
  newStory: (character = '') => `/new${search({ with: character })}`,
  graph: (focus = '', chat = '') => `/graph${search({ focus, chat })}`,
  replay: (run?: number) => (run === undefined ? '/replay' : `/replay/${run}`),
  settings: (page = '') => `/settings${page ? `/${page}` : ''}`,
  lore: (filter = '') => `/lore${filter ? `?f=${seg(filter)}` : ''}`,
  entry: (id: string) => `/lore/entry/${seg(id)}`,
};
