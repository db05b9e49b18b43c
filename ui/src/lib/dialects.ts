/** The rules that a book can run by, in the order of the menu. */
import type { Book } from '../api/types';

export type Dialect = Book['dialect'];

export const DIALECTS: readonly Dialect[] = [
  'world-info',
  'cards',
  'card-v3',
  'seed-002',
  'unorouter',
  'risu',
  'kobold',
  'ai-dungeon',
  'agnai',
  'janitor',
  'chub',
  'backyard',
];
