// Editing what somebody else may be editing too: a save is compared with what the form was opened with. When that has been
// changed since, nothing is saved, and the form offers to load the current values; what was typed stays.
import { useState } from 'react';
import { Failure } from './problem.ts';

type Tagged = { readonly etag?: string | undefined };

const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);

/** The header of a change to, or the removal of, what was loaded. */
export const ifMatch = ({ etag }: Tagged): { 'If-Match'?: string } => (etag === undefined ? {} : { 'If-Match': etag });

/** Field by field: what was typed, and the current value of what was not. */
export function keepTyped<Typed extends object>(typed: Typed, before: Typed, current: Typed): Typed {
  const entries = Object.entries(typed).map(([name, value]) => {
    const field = name as keyof Typed;
    return [name, same(value, before[field]) ? current[field] : value];
  });
  return Object.fromEntries(entries) as Typed;
}

/**
 * @param now what is to be edited, as it was read last; undefined: not read yet, or something new
 * @param read reads it anew
 * @param onLoad puts the current values into the form; `before` is what the form began with
 * @param editing false: nothing has been typed yet, so what was read last is what is seen
 */
export function useEdited<Thing extends Tagged>(options: {
  now: Thing | undefined;
  read: () => Promise<Thing>;
  onLoad: (current: Thing, before: Thing) => void;
  editing?: boolean;
}) {
  const { now, read, onLoad, editing = true } = options;
  const [seen, setSeen] = useState(now);
  if ((!editing || seen === undefined) && seen !== now) setSeen(now);
  return {
    header: ifMatch(seen ?? {}),
    /** What a save answered is what the next one is compared with; what was typed in between goes on. */
    saved: setSeen,
    /** Of a save that was refused because of another's, the failure can load the current values. */
    guard: async <Answer>(save: Promise<Answer>): Promise<Answer> => {
      try {
        return await save;
      } catch (error) {
        if (error instanceof Failure && error.problem.code === 'edit_conflict') {
          error.load = async () => {
            const current = await read();
            if (seen !== undefined) onLoad(current, seen);
            setSeen(current);
          };
        }
        throw error;
      }
    },
  };
}
