// What a person chose for this browser: colours, language, keys. Nothing of the story.

export type Theme = 'light' | 'dark' | 'system';
export type Language = 'en' | 'de';

function read<T extends string>(name: string, allowed: readonly T[], otherwise: T): T {
  try {
    const found = window.localStorage.getItem(`loreloom.${name}`);
    return allowed.includes(found as T) ? (found as T) : otherwise;
  } catch {
    return otherwise;
  }
}

function text(name: string): string {
  try {
    return window.localStorage.getItem(`loreloom.${name}`) ?? '';
  } catch {
    return '';
  }
}

function keep(name: string, value: string): void {
  try {
    window.localStorage.setItem(`loreloom.${name}`, value);
  } catch {
    // A browser that keeps nothing shows the page all the same.
  }
}

const dark = window.matchMedia('(prefers-color-scheme: dark)');

class Prefs {
  theme = $state<Theme>(read('theme', ['light', 'dark', 'system'], 'system'));
  language = $state<Language>(
    read('language', ['en', 'de'], navigator.language.startsWith('de') ? 'de' : 'en'),
  );
  keys = $state(read('keys', ['on', 'off'], 'on') === 'on');
  /** Whether Enter sends a message; with Shift it begins a line. */
  enter = $state(read('enter', ['on', 'off'], 'on') === 'on');
  /** Whether notices stay until they are closed, for people who need time to reach them. */
  stay = $state(read('stay', ['on', 'off'], 'off') === 'on');
  /** What a million tokens of prompt cost, and of those that the provider has in its cache. */
  price = $state(text('price'));
  cachedPrice = $state(text('cachedPrice'));
  private systemDark = $state(dark.matches);

  constructor() {
    dark.addEventListener('change', (event) => {
      this.systemDark = event.matches;
    });
  }

  get isDark(): boolean {
    return this.theme === 'dark' || (this.theme === 'system' && this.systemDark);
  }

  setTheme(theme: Theme): void {
    this.theme = theme;
    keep('theme', theme);
  }

  setLanguage(language: Language): void {
    this.language = language;
    keep('language', language);
  }

  setPrice(price: string, cached: string): void {
    this.price = price;
    this.cachedPrice = cached;
    keep('price', price);
    keep('cachedPrice', cached);
  }

  /** When a story was open last, and how long it was. */
  lastSeen(chat: string): { at: number; messages: number } | null {
    const [at, messages] = text(`seen.${chat}`).split(' ').map(Number);
    return at ? { at, messages: messages ?? 0 } : null;
  }

  setSeen(chat: string, messages: number): void {
    keep(`seen.${chat}`, `${Date.now()} ${messages}`);
  }

  setEnter(on: boolean): void {
    this.enter = on;
    keep('enter', on ? 'on' : 'off');
  }

  setStay(on: boolean): void {
    this.stay = on;
    keep('stay', on ? 'on' : 'off');
  }

  setKeys(on: boolean): void {
    this.keys = on;
    keep('keys', on ? 'on' : 'off');
  }
}

export const prefs = new Prefs();
