// Where the code of each screen is. A screen is a file of its own in the build, so that the first
// one does not wait for the others.
import type { ScreenName } from './navigation';

type Load = () => Promise<{ default: unknown }>;

export const SCREENS: Record<ScreenName, Load> = {
  home: () => import('../screens/nowhere/Nowhere.svelte'),
  none: () => import('../screens/nowhere/Nowhere.svelte'),
  story: () => import('../screens/story/Story.svelte'),
  inspector: () => import('../screens/inspector/Inspector.svelte'),
  memory: () => import('../screens/memory/Memory.svelte'),
  characters: () => import('../screens/characters/Characters.svelte'),
  new: () => import('../screens/newstory/NewStory.svelte'),
  findings: () => import('../screens/findings/Findings.svelte'),
  attachments: () => import('../screens/attachments/Attachments.svelte'),
  overlaps: () => import('../screens/overlaps/Overlaps.svelte'),
  coverage: () => import('../screens/coverage/Coverage.svelte'),
  dash: () => import('../screens/dash/Dash.svelte'),
  graph: () => import('../screens/graph/Graph.svelte'),
  replay: () => import('../screens/replay/Replay.svelte'),
  welcome: () => import('../screens/welcome/Welcome.svelte'),
  jobs: () => import('../screens/jobs/Jobs.svelte'),
  lore: () => import('../screens/lore/Lore.svelte'),
  stories: () => import('../screens/stories/Stories.svelte'),
  history: () => import('../screens/history/History.svelte'),
  settings: () => import('../screens/settings/Settings.svelte'),
};
