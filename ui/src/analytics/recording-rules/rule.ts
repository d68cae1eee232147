// A recording rule's form as it is typed, the API's input made of it, and how a rule is described.
import type { Schemas } from '../../api/client.ts';
import type { Condition } from '../../words/ConditionIcon.tsx';
import { compact, plural, seconds } from '../../words/format.ts';

export type RecordingRule = Schemas['RecordingRule'];
export type RecordingRuleInput = Schemas['RecordingRuleInput'];

export interface Draft {
  name: string;
  group: string;
  expression: string;
  /** As `site=north, team=web`. */
  labels: string;
  intervalSeconds: number;
  description: string;
  enabled: boolean;
}

export function draftOf(rule: RecordingRule | undefined, query: URLSearchParams): Draft {
  if (rule === undefined) {
    const expression = query.get('expression') ?? '';
    return { name: '', group: 'rules', expression, labels: '', intervalSeconds: 10, description: '', enabled: true };
  }
  const { name, group, expression, intervalSeconds, description, enabled } = rule;
  const labels = labelsText(rule.labels);
  return { name, group, expression, labels, intervalSeconds, description, enabled };
}

/** As they are typed: `site=north, team="a, b"`. */
function labelsText(labels: Readonly<Record<string, string>>): string {
  const written = (value: string) => (/[",\\]|^\s|\s$/.test(value) ? JSON.stringify(value) : value);
  return Object.entries(labels)
    .map(([label, value]) => `${label}=${written(value)}`)
    .join(', ');
}

const PAIR = /\s*([^=,"\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^",]*)\s*(?:,|$)/y;

/** Null: not written as labels are. */
export function labelsOf(text: string): Record<string, string> | null {
  const labels: Record<string, string> = {};
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < text.trimEnd().length) {
    const [, label, value] = PAIR.exec(text) ?? [];
    if (label === undefined || value === undefined) return null;
    if (!value.startsWith('"')) labels[label] = value.trim();
    else {
      try {
        labels[label] = JSON.parse(value) as string;
      } catch {
        return null;
      }
    }
  }
  return labels;
}

export interface Missing {
  readonly field: 'name' | 'expression' | 'labels' | 'group';
  readonly words: string;
}

/** The input, or what is missing of it. */
export function inputOf(draft: Draft): RecordingRuleInput | Missing {
  const labels = labelsOf(draft.labels);
  const [name, expression, group] = [draft.name.trim(), draft.expression.trim(), draft.group.trim()];
  if (name === '') return { field: 'name', words: 'Enter the name of the metric, as job:requests:rate5m.' };
  if (expression === '') return { field: 'expression', words: 'Enter an expression.' };
  if (labels === null) return { field: 'labels', words: 'Write labels as site=north, team=web.' };
  if (group === '') return { field: 'group', words: 'Enter the name of a group.' };
  const { intervalSeconds, description, enabled } = draft;
  return { name, expression, labels, group, intervalSeconds, description: description.trim(), enabled };
}

export const isMissing = (input: RecordingRuleInput | Missing): input is Missing => 'words' in input;

/** How it goes, in words. */
export function standing({ enabled, state }: RecordingRule): { state: Condition | 'off'; words: string } {
  if (!enabled) return { state: 'off', words: 'Switched off' };
  if (state === null) return { state: 'info', words: 'The telemetry store does not answer' };
  if (state.error !== null) return { state: 'critical', words: state.error };
  if (state.refused !== null) {
    const { samples, detail } = state.refused;
    return { state: 'warning', words: `${plural(samples, 'result')} refused: ${detail}` };
  }
  if (state.evaluatedAt === null) return { state: 'info', words: 'Not evaluated yet' };
  const what =
    state.histograms === 0
      ? plural(state.samples, 'value')
      : `${plural(state.histograms, 'histogram')}${state.samples > state.histograms ? ` and ${plural(state.samples - state.histograms, 'value')}` : ''}`;
  return { state: 'ok', words: `${what} in ${seconds(state.durationSeconds)}` };
}

/** How far the filling of the past is; null: none was started. */
export function fillWords({ fill }: RecordingRule): string | null {
  if (fill === null) return null;
  const stored = `${compact(fill.samples)} ${fill.samples === 1 ? 'sample' : 'samples'}`;
  const refused = fill.refused > 0 ? `, ${compact(fill.refused)} refused` : '';
  const why = fill.error === null ? '' : `: ${fill.error}`;
  switch (fill.state) {
    case 'waiting':
      return 'Filling the past waits for another rule’s';
    case 'running':
      return `Filling the past: ${Math.floor(fill.percent)} %, ${stored}${refused}${why}`;
    case 'done':
      return `The past was filled: ${stored}${refused}`;
    case 'cancelled':
      return `Filling the past was cancelled at ${Math.floor(fill.percent)} %${why}`;
    case 'failed':
      return `Filling the past failed at ${Math.floor(fill.percent)} %${why}`;
  }
}
