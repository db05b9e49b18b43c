// Verdicts in words, from the codes and parameters of the server.
import type { FixChange, Outcome, Place, Reason, KeptPlace, Stop, TextSource } from '../api/types';
import { list, t } from './i18n.svelte';

export type Titles = (entry: string) => string;

const quoted = (items: string[]): string => list(items.map((item) => t('quoted', { text: item })));
const round = (value: number): string => value.toFixed(2);

export function where(source: TextSource, titles: Titles): string {
  switch (source.kind) {
    case 'message':
      return source.name
        ? t('where.message.by', { number: source.index + 1, name: source.name })
        : t('where.message', { number: source.index + 1 });
    case 'speaker':
      return t('where.speaker', { number: source.index + 1 });
    case 'prompt':
      return t('where.prompt', { name: source.name });
    case 'entry':
      return t('where.entry', { entry: titles(source.entry) });
    default:
      return t(`where.${source.kind}`);
  }
}

type Activated = Extract<Outcome, { verdict: 'activated' }>;

export function reasonWords(outcome: Activated, titles: Titles): string {
  const why = triggerWords(outcome, titles);
  return outcome.shortened_from == null
    ? why
    : t('why.shortened', { why, from: outcome.shortened_from, to: outcome.tokens });
}

function triggerWords(outcome: Activated, titles: Titles): string {
  const { trigger } = outcome;
  const reason: Reason = trigger.reason;
  switch (reason.code) {
    case 'key': {
      const found = trigger.primary;
      if (!found) return t('why.key.any', { key: '' });
      if (!found.at) return t('why.key.any', { key: found.key });
      return t('why.key', { key: found.key, where: where(found.at.source, titles) });
    }
    case 'sticky':
      return t('why.sticky', { until: reason.until });
    case 'cascade':
      return t('why.cascade', { from: titles(reason.from) });
    case 'linked':
      return t('why.linked', { from: titles(reason.from) });
    case 'fuzzy':
      return t('why.fuzzy', { score: round(reason.score) });
    case 'selected':
      return t('why.selected', { confidence: reason.confidence, why: reason.why });
    case 'semantic':
      return t('why.semantic', { score: round(reason.score) });
    default:
      return t(`why.${reason.code}`);
  }
}

export function stopWords(stop: Stop, titles: Titles): string {
  switch (stop.code) {
    case 'trigger':
      return t('stop.trigger', { wanted: list(stop.wanted), found: stop.found });
    case 'character':
      return t(stop.exclude ? 'stop.character.not' : 'stop.character', {
        listed: list(stop.listed),
      });
    case 'tag':
      return t(stop.exclude ? 'stop.tag.not' : 'stop.tag', { listed: list(stop.listed) });
    case 'delay':
      return t('stop.delay', { until: stop.until });
    case 'cooldown':
      return t('stop.cooldown', { until: stop.until });
    case 'recursion_level':
      return t('stop.recursion_level', { level: stop.level });
    case 'recursion_limit':
      return t('stop.recursion_limit', { steps: stop.steps });
    case 'low_score':
      return t('stop.low_score', { score: round(stop.score), needed: round(stop.needed) });
    case 'search_limit':
      return t('stop.search_limit', { score: round(stop.score), most: stop.most });
    case 'not_selected':
      return stop.keys?.length
        ? t('stop.not_selected.keys', { keys: quoted(stop.keys) })
        : t('stop.not_selected');
    case 'no_marker':
      return t('stop.no_marker', { name: stop.name });
    case 'unsure':
      return stop.keys?.length
        ? t('stop.unsure.keys', {
            keys: quoted(stop.keys),
            confidence: stop.confidence,
            needed: stop.needed,
          })
        : t('stop.unsure', { confidence: stop.confidence, needed: stop.needed });
    case 'key_too_slow':
      return t(`stop.key_too_slow.${stop.cost}`, { key: stop.key });
    case 'not_near':
      return stop.score == null
        ? t('stop.not_near.others')
        : t('stop.not_near', { score: round(stop.score), threshold: round(stop.threshold) });
    case 'out_of_reach':
      if (stop.characters != null)
        return t('stop.out_of_reach.characters', {
          key: stop.key,
          distance: stop.distance,
          characters: stop.characters,
        });
      if (stop.tokens != null)
        return t('stop.out_of_reach.tokens', {
          key: stop.key,
          distance: stop.distance,
          tokens: stop.tokens,
        });
      return t('stop.out_of_reach', { key: stop.key, distance: stop.distance, depth: stop.depth });
    case 'copied':
      return t('stop.copied', { of: titles(stop.of) });
    case 'secondary':
      return stop.logic === 'not_any' || stop.logic === 'not_all'
        ? t('stop.secondary.found', { key: stop.key, found: quoted(stop.found) })
        : t('stop.secondary', { key: stop.key, missing: quoted(stop.missing) });
    case 'group':
      return stop.winner
        ? t('stop.group.winner', { group: stop.group, winner: titles(stop.winner) })
        : t('stop.group', { group: stop.group });
    case 'chance':
      if (stop.probability <= 0) return t('stop.chance.never');
      return t('stop.chance', { probability: stop.probability, roll: stop.roll });
    case 'budget':
      return t('stop.budget', { needed: stop.needed, left: stop.left });
    case 'over_budget':
      return t('stop.over_budget', { needed: stop.needed, limit: stop.limit });
    case 'no_room':
      return t('stop.no_room', { needed: stop.needed });
    case 'gate':
      return t('stop.gate', { gate: stop.gate });
    case 'excluded':
      return t('stop.excluded', { found: quoted(stop.found) });
    case 'required':
      return t('stop.required', { missing: quoted(stop.missing) });
    case 'warmup':
      return t('stop.warmup', { found: stop.found, needed: stop.needed });
    case 'resting':
      return t('stop.resting', { left: stop.left });
    case 'context':
      return t('stop.context', { field: stop.field, note: list(stop.note) });
    case 'folder':
      return t('stop.folder', { folder: stop.folder });
    case 'reinjection':
      return t('stop.reinjection', { ago: stop.ago, cooldown: stop.cooldown });
    case 'requires':
      return t('stop.requires', { missing: quoted(stop.missing) });
    case 'excludes':
      return t('stop.excludes', { present: quoted(stop.present) });
    case 'max_entries':
      return t('stop.max_entries', { most: stop.most });
    default:
      return t(`stop.${stop.code}`);
  }
}

interface Decided {
  outcome: Outcome;
  kept_place?: KeptPlace | null;
  speaker_unknown?: boolean;
}

/** Where the prompt cache keeps a text. */
export function keptWords({ outcome }: Decided, kept: KeptPlace): string {
  const place = placeWords(kept.place);
  if (outcome.verdict === 'activated')
    return t('kept.moved', { place, own: placeWords(outcome.place) });
  return kept.idle_since == null
    ? t('kept.still', { place })
    : t('kept.since', { place, since: kept.idle_since });
}

export function verdictWords(decided: Decided, titles: Titles): string {
  const { outcome, kept_place: kept } = decided;
  const own =
    outcome.verdict === 'activated' ? reasonWords(outcome, titles) : stopWords(outcome, titles);
  const words = decided.speaker_unknown ? `${own}; ${t('why.speakerUnknown')}` : own;
  return kept ? `${words}; ${keptWords(decided, kept)}` : words;
}

export function placeWords(place: Place | null | undefined): string {
  if (!place) return t('place.none');
  if (typeof place === 'string') return t(`place.${place}`);
  if ('at_depth' in place) return t('place.at_depth', { depth: place.at_depth });
  if ('outlet' in place) return t('place.outlet', { name: place.outlet });
  return t('place.slot', { name: place.slot });
}

export function fixWords(change: FixChange): string {
  switch (change.change) {
    case 'scan_depth':
      return t('fix.scan_depth', { messages: change.messages });
    case 'add_key':
      return t('fix.add_key', { key: change.key });
    case 'order':
      return t('fix.order', { order: change.order });
    case 'say':
      return t('fix.say', { words: quoted(change.words) });
    case 'wait':
      return t('fix.wait', { until: change.until });
    case 'probability':
      return t('fix.probability', { percent: change.percent });
    case 'nearness':
      return t('fix.nearness', { threshold: round(change.threshold) });
    case 'near_entries':
      return t('fix.near_entries', { most: change.most });
    case 'setting':
      return t('fix.setting', { name: change.name, value: change.value });
    case 'pin':
      return t('fix.pin', { titles: quoted(change.titles) });
    case 'scene':
      return t('fix.scene', { field: change.field, values: quoted(change.values) });
    case 'look_into':
      return t('fix.look_into', { folder: change.folder });
    case 'drop_field':
      return t('fix.drop_field', { field: change.field });
    case 'budget':
      return t('fix.budget', { tokens: change.tokens });
    case 'total_budget':
      return t('fix.total_budget', { tokens: change.tokens });
    default:
      return t(`fix.${change.change}`);
  }
}
