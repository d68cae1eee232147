// Works through the hash chain of the audit log, a little at a time: a million entries take seconds, and nothing may wait
// for them.
import { performance } from 'node:perf_hooks';
import { setTimeout as wait } from 'node:timers/promises';
import { type Audit, GENESIS, hashOf, type Link } from '../audit/index.ts';

/** A slice becomes smaller when it took longer than the second, and larger when it took less than the first. */
const SLICE_MS = [4, 12] as const;
const FIRST = 50;
const MOST = 250;
/** Between slices, for everything else. */
const PAUSE_MS = 1;
/** More places than these are counted only. */
const NAMED = 10;

export interface Verified {
  /** How many were looked at. */
  readonly entries: number;
  /** Where it is damaged, the first of them in words. */
  readonly damages: readonly string[];
  readonly places: number;
  /** What does not fit the hashes that were given. */
  readonly differences: readonly string[];
  /** The slice that kept the others waiting longest. */
  readonly longestMs: number;
}

export interface VerifyOptions {
  /** Written down elsewhere; the hash may be shortened. */
  readonly known?: readonly Link[];
  readonly signal?: AbortSignal;
  readonly progress?: (done: number, all: number) => void;
}

const range = (from: number, to: number) => (from === to ? `Entry ${from} is` : `Entries ${from} to ${to} are`);

export async function verify(audit: Audit, { known = [], signal, progress }: VerifyOptions = {}): Promise<Verified> {
  const damages: string[] = [];
  let places = 0;
  const damaged = (what: string) => {
    places++;
    if (damages.length < NAMED) damages.push(what);
  };
  const differences: string[] = [];
  const compare = (link: Link) => {
    for (const { id, hash } of known) {
      if (id === link.id && !link.hash.startsWith(hash)) {
        differences.push(
          `Entry ${id} has another hash than the one given: it, or one before it, was changed and the chain made anew, or the hash was not copied right.`,
        );
      }
    }
  };

  const anchor = audit.anchor();
  const until = audit.newest()?.id ?? 0;
  const given = audit.lastGiven();
  let last: Link = anchor ?? { id: 0, hash: GENESIS };
  const first = last.id;
  compare(last);
  let entries = 0;
  let size = FIRST;
  let longestMs = 0;
  for (;;) {
    signal?.throwIfAborted();
    const began = performance.now();
    // What retention has dropped in the meantime needs no look any more.
    const now = audit.anchor();
    if (now !== undefined && now.id > last.id) last = now;
    const rows = audit.after(last.id, size).filter(({ id }) => id <= until);
    for (const row of rows) {
      // Numbers have no gaps. Where the newest were removed before the next one came, only its number tells.
      if (row.id > last.id + 1) damaged(`${range(last.id + 1, row.id - 1)} missing.`);
      else if (hashOf(last.hash, row) !== row.entry_hash) {
        if (last.id === first && first > 0)
          damaged(`Entry ${row.id}, the oldest, does not follow from the anchor: one of both was changed.`);
        else if (last.id === 0) damaged(`Entry ${row.id}, the first, was changed.`);
        else damaged(`Entry ${row.id} was changed, or does not follow from entry ${last.id}.`);
      }
      last = { id: row.id, hash: row.entry_hash };
      compare(last);
    }
    entries += rows.length;
    const took = performance.now() - began;
    longestMs = Math.max(longestMs, took);
    if (rows.length < size) break;
    if (took > SLICE_MS[1]) size = Math.max(1, Math.floor(size / 2));
    else if (took < SLICE_MS[0]) size = Math.min(MOST, size * 2);
    progress?.(entries, until - first);
    await wait(PAUSE_MS);
  }
  if (given > until) damaged(`${range(until + 1, given)} missing: the newest there were.`);
  for (const { id } of known) {
    if (id > until)
      differences.push(
        `There is no entry ${id}: the newest is ${until}. Those behind it were removed, or the number is wrong.`,
      );
    else if (id < first)
      differences.push(
        `Entry ${id} was dropped, as old ones are, and cannot be compared: the oldest hash there is is that of entry ${first}.`,
      );
    else if (audit.hashAt(id) === undefined && id > (audit.anchor()?.id ?? 0))
      differences.push(`There is no entry ${id} any more.`);
  }
  return { entries, damages, places, differences, longestMs };
}

/** The fewest digits of a hash that are compared: 80 bits, which nobody finds another entry for. */
const DIGITS = 20;

/** `ID:HASH` as somebody wrote it down: in groups, with hyphens, in any case, or only its first twenty digits. Null: it is none. */
export function knownLink(text: string): Link | null {
  const [, id = '', rest = ''] = /^\s*(\d{1,15})\s*:(.*)$/s.exec(text) ?? [];
  const hash = rest.replace(/[\s-]/g, '').toLowerCase();
  if (id === '' || hash.length < DIGITS || !/^[0-9a-f]{1,64}$/.test(hash)) return null;
  return { id: Number(id), hash };
}
