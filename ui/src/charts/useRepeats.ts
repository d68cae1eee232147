// Whether what a chart shows repeats, looked for when the browser has nothing else to do, and every few seconds at most.
import { useEffect, useRef, useState } from 'react';
import { useAxis, useSettled } from './axis.ts';
import { within } from './lines.ts';
import { type Line, repeatsInWords } from './repeats.ts';

/** A live chart has new values each second, which change nothing about how often they repeat. */
const EVERY_MS = 5_000;

const whenIdle = (run: () => void): (() => void) => {
  // Safari has no such thing.
  if (typeof requestIdleCallback !== 'function') {
    const timer = setTimeout(run, 200);
    return () => clearTimeout(timer);
  }
  const asked = requestIdleCallback(run, { timeout: 2_000 });
  return () => cancelIdleCallback(asked);
};

/**
 * What is said below a chart of lines.
 * @param of names the lines: a new one is looked at at once
 */
export function useRepeats(of: string, start: number, step: number, lines: readonly Line[]): string | null {
  const axis = useAxis();
  const settled = useSettled(axis);
  const [said, setSaid] = useState<string | null>(null);
  const looked = useRef({ of: '', at: Number.NEGATIVE_INFINITY });
  // biome-ignore lint/correctness/useExhaustiveDependencies: what is seen is what has settled
  useEffect(() => {
    const key = `${of} ${step}`;
    const wait = looked.current.of === key ? looked.current.at + EVERY_MS - performance.now() : 0;
    let cancel = () => {};
    const timer = setTimeout(
      () => {
        cancel = whenIdle(() => {
          looked.current = { of: key, at: performance.now() };
          const count = lines[0]?.values.length ?? 0;
          const { start: from, end } = axis.span;
          const [first, last] = within({ start, step, count }, from, end);
          setSaid(
            repeatsInWords(
              lines.map(({ text, values }) => ({ text, values: values.subarray(first, last) })),
              step,
            ),
          );
        });
      },
      Math.max(0, wait),
    );
    return () => {
      clearTimeout(timer);
      cancel();
    };
  }, [of, start, step, lines, settled, axis]);
  return said;
}
