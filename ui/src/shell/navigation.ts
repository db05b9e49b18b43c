// Where the page can go: the links of the rail, and places that only the palette offers.
import { t } from '../lib/i18n.svelte';
import { place } from '../lib/place.svelte';
import { TIERS } from '../lib/records';
import { to, type Route } from '../lib/router.svelte';

export interface Link {
  id: string;
  icon: string;
  title: string;
  keys: string;
  href: string;
}

export interface LinkGroup {
  group: string;
  items: Link[];
}

const SCREENS = [
  'lore',
  'characters',
  'new',
  'history',
  'settings',
  'stories',
  'jobs',
  'dash',
  'graph',
  'replay',
  'welcome',
] as const;

/** Screens below the address of the lore. */
const LORE_PARTS = ['findings', 'coverage', 'attachments', 'overlaps'] as const;

export type ScreenName =
  | (typeof SCREENS)[number]
  | (typeof LORE_PARTS)[number]
  | 'home'
  | 'story'
  | 'inspector'
  | 'memory'
  | 'none';

/** The screen that an address shows. */
export function screenOf(route: Route): ScreenName {
  const [first, second, third] = route.parts;
  if (first === undefined) return 'home';
  const part = LORE_PARTS.find((one) => one === second);
  if (first === 'lore' && part) return part;
  if (first === 'c') return third === 't' ? 'inspector' : third === 'memory' ? 'memory' : 'story';
  return SCREENS.find((one) => one === first) ?? 'none';
}

/** The link that a screen belongs to. */
export const linkOf = (screen: ScreenName): string =>
  LORE_PARTS.some((one) => one === screen) ? 'lore' : screen;

/** The links of the rail; `chat` is the story that was open last. */
export function railLinks(chat: string | null, hasMemory: boolean): LinkGroup[] {
  const link = (id: string, icon: string, title: string, key: string, href: string): Link => ({
    id,
    icon,
    title,
    keys: `g ${key}`,
    href,
  });
  const inStory = (href: (chat: string) => string) => (chat ? href(chat) : '/');
  const turn = inStory((chat) => to.turn(chat, place.turn ?? 0));
  const memory = inStory((chat) => to.memory(chat));
  return [
    {
      group: t('nav.group.story'),
      items: [
        link('story', 'story', t('nav.story'), 's', inStory(to.story)),
        link('inspector', 'inspect', t('nav.inspector'), 'i', turn),
        ...(hasMemory ? [link('memory', 'memory', t('nav.memory'), 'm', memory)] : []),
        link('new', 'plus', t('nav.new'), 'n', '/new'),
      ],
    },
    {
      group: t('nav.group.world'),
      items: [
        link('characters', 'people', t('nav.characters'), 'p', '/characters'),
        link('lore', 'lore', t('nav.lore'), 'l', '/lore'),
        link('graph', 'graph', t('nav.graph'), 'g', '/graph'),
        link('replay', 'replay', t('nav.replay'), 'r', '/replay'),
      ],
    },
    {
      group: t('nav.group.system'),
      items: [
        link('stories', 'chats', t('nav.chats'), 'c', '/stories'),
        link('dash', 'dash', t('nav.dash'), 'd', '/dash'),
        link('history', 'history', t('nav.history'), 'h', '/history'),
        ...(hasMemory ? [link('jobs', 'jobs', t('nav.jobs'), 'j', '/jobs')] : []),
        link('settings', 'gear', t('nav.settings'), ',', '/settings'),
      ],
    },
  ];
}

export type Place = Pick<Link, 'icon' | 'title' | 'href'>;

const inspectorPlaces = (chat: string): Place[] =>
  (['why', 'diff', 'raw'] as const).map((view) => ({
    icon: 'inspect',
    title: t(`insp.${view}`),
    href: to.turn(chat, place.turn ?? 0, view),
  }));

const memoryPlaces = (chat: string): Place[] =>
  TIERS.filter((tier) => tier !== 'facts').map((tier) => ({
    icon: 'memory',
    title: `${t('nav.memory')}: ${t(`mem.tier.${tier}`)}`,
    href: to.memory(chat, tier),
  }));

/** Pages that the rail has no room for. */
export function otherPlaces(chat: string | null, hasMemory: boolean): Place[] {
  const settings = (['weaving', 'prompt', 'slots', 'models', 'server', 'all'] as const).map(
    (page) => ({
      icon: 'gear',
      title: `${t('nav.settings')}: ${t(`settings.page.${page}`)}`,
      href: to.settings(page),
    }),
  );
  return [
    ...(chat ? [{ icon: 'branch', title: t('palette.branches'), href: to.tree(chat) }] : []),
    ...(chat ? inspectorPlaces(chat) : []),
    ...(chat && hasMemory ? memoryPlaces(chat) : []),
    { icon: 'lore', title: t('cover.title'), href: '/lore/coverage' },
    { icon: 'lore', title: t('attach.title'), href: '/lore/attachments' },
    { icon: 'lore', title: t('overlap.title'), href: '/lore/overlaps' },
    { icon: 'lore', title: t('lint.title'), href: '/lore/findings' },
    ...settings,
    { icon: 'gear', title: t('welcome.title'), href: '/welcome' },
  ];
}
