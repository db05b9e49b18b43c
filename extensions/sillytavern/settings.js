// What the user set, kept with SillyTavern's own settings.

/** The ways to work with Loreloom. */
export const MODES = ['slots', 'proxy', 'annotate', 'watch', 'off'];

/** The formats that entries can be wrapped in, in mode `annotate`. */
export const WRAPPERS = [
  'xml-minimal',
  'xml-standard',
  'xml-detailed',
  'xml-maximum',
  'markdown',
  'lb',
  'world-info',
];

const DEFAULTS = {
  url: 'http://127.0.0.1:8686',
  key: '',
  mode: 'slots',
  wrapper: 'xml-standard',
  // SillyTavern waits for the interceptor without a limit, so there must be one here.
  deadline: 1500,
  chips: true,
  // The connected model works for Loreloom's memory.
  lend: false,
  // Loreloom's books by the name of the lorebook in SillyTavern.
  served: {},
  // What else moved in, by kind.
  moved: {},
};

const NAME = 'loreloom';

/** The settings, with defaults for what is missing. They are live: change them in place. */
export function settings(context = SillyTavern.getContext()) {
  const all = context.extensionSettings;
  all[NAME] ??= {};
  for (const [name, value] of Object.entries(DEFAULTS)) all[NAME][name] ??= structuredClone(value);
  return all[NAME];
}

/** Changes settings and stores them. */
export function change(changes, context = SillyTavern.getContext()) {
  Object.assign(settings(context), changes);
  context.saveSettingsDebounced();
}
