// A silence's form as it is typed, and the API's input made of it.
import type { Schemas } from '../../api/client.ts';
import { localTime } from '../../words/localTime.ts';

export type Silence = Schemas['Silence'];
export type SilenceInput = Schemas['SilenceInput'];

export interface SilenceDraft {
  name: string;
  /** As `datetime-local` fields have them, in the reader's time zone. */
  start: string;
  end: string;
  classes: string[];
  severities: SilenceInput['severities'];
  text: string;
  /** Chosen on the page of the hosts; a silence that names them goes on to. */
  hosts: string[];
}

/** @param seconds since the epoch */
export const local = (seconds: number) => localTime(seconds * 1000);

export function draftOfSilence(one: Silence | undefined, query: URLSearchParams, now: number): SilenceDraft {
  if (one !== undefined) {
    const { name, start, end, classes, severities, text, hosts = [] } = one;
    return { name, start: local(start), end: local(end), classes, severities, text, hosts };
  }
  const kind = query.get('class');
  return {
    name: query.get('name') ?? '',
    start: '',
    end: local(now + 2 * 3600),
    classes: kind === null ? [] : [kind],
    severities: [],
    text: query.get('text') ?? '',
    hosts: query.getAll('host'),
  };
}

/** Or what is missing. An empty start is now. */
export function inputOfSilence(draft: SilenceDraft, now: number): SilenceInput | string {
  const seconds = (text: string) => Math.floor(new Date(text).getTime() / 1000);
  if (draft.name.trim() === '') return 'Enter what it is for.';
  if (draft.end === '' || Number.isNaN(seconds(draft.end))) return 'Enter when it ends.';
  const start = draft.start === '' ? Math.floor(now) : seconds(draft.start);
  return {
    name: draft.name.trim(),
    start,
    end: seconds(draft.end),
    classes: draft.classes,
    severities: draft.severities,
    text: draft.text.trim(),
    ...(draft.hosts.length > 0 && { hosts: draft.hosts }),
  };
}

const written = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
export const moment = (seconds: number) => written.format(seconds * 1000);

/** "Alerts of pool.degraded that are critical, with “tank”". */
export function silenceWords(silence: Pick<SilenceInput, 'classes' | 'severities' | 'text' | 'hosts'>) {
  const { classes, severities, text, hosts = [] } = silence;
  const of = classes.length === 0 ? 'All alerts' : `Alerts of ${classes.join(', ')}`;
  const severity =
    severities.length === 0 ? '' : ` that are ${severities.join(' or ').replace('info', 'for information')}`;
  const about = hosts.length === 0 ? '' : ` about ${hosts.length === 1 ? hosts[0] : `${hosts.length} hosts`}`;
  return `${of}${about}${severity}${text === '' ? '' : `, with “${text}”`}`;
}
