// Commands that every screen has.
import type { Command } from '../lib/commands.svelte';
import { t } from '../lib/i18n.svelte';
import { notices } from '../lib/notices.svelte';
import { prefs } from '../lib/prefs.svelte';
import { router } from '../lib/router.svelte';
import type { Link, Place } from './navigation';

const goTo = ({ icon, title, href }: Place) => ({
  title: t('palette.go', { place: title }),
  icon,
  run: () => router.go(href),
});

export function shellCommands(
  links: Link[],
  places: Place[],
  openPalette: () => void,
  openHelp: () => void,
): Command[] {
  const language = prefs.language === 'en' ? 'Deutsch' : 'English';
  return [
    {
      id: 'palette',
      title: t('do.palette'),
      keys: 'Ctrl+k',
      icon: 'search',
      hidden: true,
      run: openPalette,
    },
    ...links.map((link) => ({ id: `go:${link.id}`, keys: link.keys, ...goTo(link) })),
    ...places.map((one) => ({ id: `go:${one.href}`, ...goTo(one) })),
    {
      id: 'undo',
      title: t('do.undo'),
      keys: 'Ctrl+z',
      icon: 'undo',
      run: () => void notices.undo(),
    },
    {
      id: 'theme',
      title: t('app.theme'),
      keys: 't',
      icon: 'sun',
      run: () => prefs.setTheme(prefs.isDark ? 'light' : 'dark'),
    },
    {
      id: 'language',
      title: t('do.language', { language }),
      icon: 'gear',
      run: () => prefs.setLanguage(prefs.language === 'en' ? 'de' : 'en'),
    },
    { id: 'help', title: t('do.help'), keys: '?', icon: 'gear', run: openHelp },
  ];
}
