// Short names for the API's types, which are generated from docs/openapi.json.
import type { components } from './schema';

type Schemas = components['schemas'];

export type BatchDone = Schemas['BatchDone'];
export type Binding = Schemas['Binding'];
export type Book = Schemas['BookView'];
export type Books = Schemas['BooksView'];
export type BudgetUse = Schemas['BudgetUse'];
export type Chat = Schemas['ChatView'];
export type Connection = Schemas['ConnectionView'];
export type Connections = Schemas['ConnectionsView'];
export type ConnectionSettings = Partial<Schemas['ConnectionSettings']>;
export type Counts = Schemas['Counts'];
export type Entries = Schemas['EntriesView'];
export type EntryRow = Schemas['EntryRow'];
export type EntryView = Schemas['EntryView'];
export type EntryVersion = Schemas['EntryVersion'];
export type FeatureChoice = Schemas['FeatureChoice'];
export type Features = Partial<Schemas['Features']>;
export type Figures = Schemas['TurnFigures'];
export type FailOpen = Schemas['FailOpen'];
export type TurnsPage = Schemas['TurnsPage'];
export type Found = Schemas['FoundView'];
export type Finding = Schemas['LintFinding'];
export type Frequency = Schemas['Frequency'];
export type FixChange = Schemas['FixChange'];
export type Graph = Schemas['GraphView'];
export type GraphLayer = Schemas['GraphLayer'];
export type GraphNode = Schemas['GraphNode'];
export type Hazard = Schemas['HazardCount'];
export type Health = Schemas['Health'];
export type Job = Schemas['JobView'];
export type KeyMatch = Schemas['KeyMatch'];
export type Knowledge = Schemas['KnowledgeView'];
export type LineChange = Schemas['LineChange'];
export type MadeKey = Schemas['MadeKey'];
export type MappedSpan = Schemas['MappedSpan'];
export type MoveDone = Schemas['MoveDone'];
export type Outcome = Schemas['Outcome'];
export type PathMessage = Schemas['PathMessage'];
export type Path = Schemas['PathView'];
export type Place = Schemas['Place'];
export type Position = Schemas['Position'];
export type ProblemBody = Schemas['Problem'];
export type Preview = Schemas['PreviewView'];
export type PromptMap = Schemas['PromptMap'];
export type Proof = Schemas['Proof'];
export type Provenance = Schemas['Provenance'];
export type RawTurn = Schemas['RawTurn'];
export type Memory = Schemas['RecordView'];
export type MemoryHistory = Schemas['RecordHistory'];
export type Owner = Schemas['Owner'];
export type RecordKind = Schemas['RecordKind'];
export type Reason = Schemas['Reason'];
export type Routes = Schemas['RoutesView'];
export type Run = Schemas['RunView'];
export type TestsRun = Schemas['TestsView'];
export type ChangedTurn = Schemas['ChangedTurn'];
export type Scope = Schemas['Scope'];
export type ServerKeyList = Schemas['KeysView'];
export type NotebooksView = Schemas['NotebooksView'];
export type Scene = Schemas['SceneView'];
export type SettingRow = Schemas['SettingRow'];
export type Settings = Schemas['AllSettings'];
export type Revision = Schemas['RevisionView'];
export type SlotView = Schemas['SlotView'];
export type Standing = Schemas['Standing'];
export type Stop = Schemas['Stop'];
export type Tested = Schemas['TestView'];
export type TextSource = Schemas['TextSource'];
export type Thread = Schemas['Thread'];
export type Tree = Schemas['TreeView'];
export type TreeNode = Schemas['TreeNode'];
export type Trial = Schemas['TrialView'];
export type Turn = Schemas['TurnView'];
export type TurnChange = Schemas['TurnChange'];
export type TurnBrief = Schemas['TurnBrief'];
export type TurnsDiff = Schemas['TurnsDiff'];
export type Uploaded = Schemas['Uploaded'];
export type Vault = Schemas['VaultView'];
export type Warning = Schemas['Warning'];
export type WovenView = Schemas['WovenView'];
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
