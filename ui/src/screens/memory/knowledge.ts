// Who knows what: the kinds of knowledge and their marks.
import type { Knowledge } from '../../api/types';

export type KnowledgeItem = Knowledge['items'][number];

export const KINDS = ['knows', 'suspects', 'believes', 'unaware', 'hiding'] as const;
export type Kind = (typeof KINDS)[number];

export const MARKS: Record<Kind, string> = {
  knows: '●',
  suspects: '◐',
  believes: '≠',
  unaware: '○',
  hiding: '◇',
};
