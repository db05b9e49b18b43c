// Short names for the API's types, which are generated from docs/openapi.json.
import type { components } from './schema';

type Schemas = components['schemas'];

export type Binding = Schemas['Binding'];
export type Book = Schemas['BookView'];
export type Books = Schemas['BooksView'];
export type BudgetUse = Schemas['BudgetUse'];
export type Chat = Schemas['ChatView'];
export type Counts = Schemas['Counts'];
export type Entries = Schemas['EntriesView'];
export type EntryRow = Schemas['EntryRow'];
export type EntryView = Schemas['EntryView'];
export type FixChange = Schemas['FixChange'];
export type Health = Schemas['Health'];
export type KeyMatch = Schemas['KeyMatch'];
export type MappedSpan = Schemas['MappedSpan'];
export type Outcome = Schemas['Outcome'];
export type PathMessage = Schemas['PathMessage'];
export type Path = Schemas['PathView'];
export type Place = Schemas['Place'];
export type Position = Schemas['Position'];
export type ProblemBody = Schemas['Problem'];
export type PromptMap = Schemas['PromptMap'];
export type Proof = Schemas['Proof'];
export type Provenance = Schemas['Provenance'];
export type RawTurn = Schemas['RawTurn'];
export type Reason = Schemas['Reason'];
export type Revision = Schemas['RevisionView'];
export type Stop = Schemas['Stop'];
export type TextSource = Schemas['TextSource'];
export type Thread = Schemas['Thread'];
export type Tree = Schemas['TreeView'];
export type TreeNode = Schemas['TreeNode'];
export type Turn = Schemas['TurnView'];
export type TurnBrief = Schemas['TurnBrief'];
export type TurnsDiff = Schemas['TurnsDiff'];
export type VerdictClass = Schemas['VerdictClass'];
export type VerdictRow = Schemas['VerdictRow'];
export type Verdicts = Schemas['VerdictsView'];

export interface Page<T> {
  items: T[];
  total: number;
  next?: string | null;
}

/** What a write gives back. */
export interface Wrote<T> {
  item: T;
  revision: number;
  undo?: string | null;
}

/** What a batch did, or would do. */
export interface BatchDone {
  dry_run: boolean;
  selected: number;
  changed: { id: string; book: string; title: string; fields: { field: string; before: unknown; after: unknown }[] }[];
  undo?: string | null;
}

export interface Uploaded {
  format: string;
  entries: number;
  card: boolean;
  dialect: 'world_info' | 'cards';
  notes: { severity: string; entry?: string | null; field: string; text: string }[];
  losses: { entry?: string | null; field: string; value: unknown }[];
  undo?: string | null;
  item?: Book | null;
}

export interface Tried {
  items: { entry: string; title: string; keys: { key: string; places: { start: number; end: number }[] }[] }[];
}

export interface EntryVersion {
  revision: number;
  undo: string;
  created: number;
  undoes?: number | null;
  entry?: { content?: string; comment?: string; name?: string; activation?: { keys?: string[] } } | null;
}

export interface WovenView {
  threads: Thread[];
  budgets: BudgetUse[];
  prompt: PromptMap;
}
