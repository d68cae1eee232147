// Drawing a box: by pointer or finger from corner to corner; by keys, where arrows move it, with Shift make it larger and
// smaller, Enter takes it and Escape gives it up.
import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useRef } from 'react';
import type { Rect } from './box.ts';
import { BOTTOM, LEFT, RIGHT, TOP } from './pen.ts';

/** Pixels that an arrow moves the box by. */
const BY = 12;
/** A box is not smaller than this. */
const LEAST = 4;

export function useBoxGesture(options: {
  readonly on: boolean;
  readonly box: RefObject<HTMLDivElement | null>;
  /** Shows the box while it is drawn. */
  readonly shade: RefObject<HTMLDivElement | null>;
  readonly width: number;
  readonly height: number;
  readonly done: (rect: Rect) => void;
  readonly cancel: () => void;
  /** Called when it was moved by a key, so that it can be announced. */
  readonly moved: (rect: Rect) => void;
}) {
  const { on, box, shade, width, height } = options;
  const corner = useRef<{ x: number; y: number } | null>(null);
  const draft = useRef<Rect | null>(null);

  const show = (rect: Rect | null) => {
    draft.current = rect;
    const element = shade.current;
    if (element === null) return;
    element.hidden = rect === null;
    if (rect === null) return;
    element.style.left = `${rect.left}px`;
    element.style.top = `${rect.top}px`;
    element.style.width = `${rect.right - rect.left}px`;
    element.style.height = `${rect.bottom - rect.top}px`;
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was drawn belongs to one turn of drawing
  useEffect(() => {
    corner.current = null;
    show(null);
  }, [on]);

  const within = (event: PointerEvent) => {
    const { left, top } = (box.current as HTMLElement).getBoundingClientRect();
    return {
      x: Math.min(Math.max(event.clientX - left, LEFT), width - RIGHT),
      y: Math.min(Math.max(event.clientY - top, TOP), height - BOTTOM),
    };
  };
  const between = (a: { x: number; y: number }, b: { x: number; y: number }): Rect => ({
    left: Math.min(a.x, b.x),
    right: Math.max(a.x, b.x),
    top: Math.min(a.y, b.y),
    bottom: Math.max(a.y, b.y),
  });

  const keys = (event: KeyboardEvent) => {
    const step: Record<string, readonly [number, number]> = {
      ArrowLeft: [-BY, 0],
      ArrowRight: [BY, 0],
      ArrowUp: [0, -BY],
      ArrowDown: [0, BY],
    };
    const by = step[event.key];
    if (event.key === 'Escape') options.cancel();
    else if (event.key === 'Enter' && draft.current !== null) options.done(draft.current);
    else if (by !== undefined) {
      const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
      const now = draft.current ?? {
        left: LEFT + wide / 3,
        right: LEFT + (2 * wide) / 3,
        top: TOP,
        bottom: TOP + high / 2,
      };
      // The first key shows it where it begins.
      const [x, y] = draft.current === null ? [0, 0] : by;
      const clampX = (value: number) => Math.min(Math.max(value, LEFT), width - RIGHT);
      const clampY = (value: number) => Math.min(Math.max(value, TOP), height - BOTTOM);
      const next = event.shiftKey
        ? {
            ...now,
            right: clampX(Math.max(now.left + BY, now.right + x)),
            bottom: clampY(Math.max(now.top + BY, now.bottom + y)),
          }
        : {
            left: clampX(now.left + x),
            right: clampX(now.right + x),
            top: clampY(now.top + y),
            bottom: clampY(now.bottom + y),
          };
      if (next.right - next.left >= LEAST && next.bottom - next.top >= LEAST) {
        show(next);
        options.moved(next);
      }
    } else return;
    event.preventDefault();
  };
  return {
    onKeyDown: keys,
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button !== 0) return;
      corner.current = within(event);
      event.currentTarget.setPointerCapture(event.pointerId);
    },
    onPointerMove: (event: PointerEvent) => {
      if (corner.current !== null) show(between(corner.current, within(event)));
    },
    onPointerUp: () => {
      const rect = draft.current;
      if (corner.current === null) return;
      corner.current = null;
      if (rect !== null && rect.right - rect.left >= LEAST && rect.bottom - rect.top >= LEAST) options.done(rect);
      else show(null);
    },
    onPointerCancel: () => {
      corner.current = null;
      show(null);
    },
  };
}
