// What pointer, wheel, touch and keys do on a chart over time: pan, zoom, choose a time, point at a moment.
import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useRef } from 'react';
import { useAxis } from './axis.ts';
import { LEFT, RIGHT } from './pen.ts';

/** A pointer that moved less than this has not dragged. */
const CLICK = 4;

export function usePlotGestures(options: {
  readonly box: RefObject<HTMLDivElement | null>;
  readonly selection: RefObject<HTMLDivElement | null>;
  readonly width: number;
  /** The length of a column: what an arrow moves the cursor by. */
  readonly step: number;
  /** The time cannot be changed: gestures only point. */
  readonly fixed: boolean;
  /** Called when the cursor was moved by a key, so that what is there can be announced. */
  readonly onKeyboardCursor: (time: number | null) => void;
}) {
  const { box, selection, width, fixed } = options;
  const axis = useAxis();
  const latest = useRef(options);
  latest.current = options;

  const timeAt = (clientX: number): number => {
    const from = (box.current as HTMLElement).getBoundingClientRect().left + LEFT;
    const { start, end } = axis.span;
    const share = (clientX - from) / Math.max(1, width - LEFT - RIGHT);
    return start + Math.min(Math.max(share, 0), 1) * (end - start);
  };
  const point = (time: number | null): number | null => {
    const { step } = latest.current;
    const column = time === null ? null : Math.floor(time / step + 1e-9) * step;
    axis.point(column);
    return column;
  };

  // Not React's: a listener that may prevent scrolling must be registered as not passive.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it reads the width when it is called
  useEffect(() => {
    const element = box.current;
    if (element === null || fixed) return;
    const onWheel = (event: WheelEvent) => {
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      // The wheel still scrolls the page; it zooms the chart one works in.
      if (!sideways && !event.ctrlKey && !event.metaKey && !element.contains(document.activeElement)) return;
      event.preventDefault();
      if (sideways) axis.pan((event.deltaX / Math.max(1, width)) * axis.range);
      else axis.zoom(Math.exp(Math.max(-60, Math.min(60, event.deltaY)) / 150), timeAt(event.clientX));
    };
    element.addEventListener('wheel', onWheel, { passive: false });
    return () => element.removeEventListener('wheel', onWheel);
  }, [axis, width, fixed]);

  const pointers = useRef(new Map<number, number>());
  const drag = useRef<{ x: number; moved: boolean; select: boolean; apart: number } | null>(null);

  const down = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0 || (event.target as HTMLElement).closest('[role="slider"]')) return;
    if (fixed) {
      point(timeAt(event.clientX));
      return;
    }
    pointers.current.set(event.pointerId, event.clientX);
    const places = [...pointers.current.values()];
    const apart = places.length === 2 ? Math.abs((places[0] as number) - (places[1] as number)) : 0;
    drag.current = { x: event.clientX, moved: false, select: event.shiftKey, apart };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent<HTMLDivElement>) => {
    const state = drag.current;
    if (state === null) {
      point(timeAt(event.clientX));
      return;
    }
    pointers.current.set(event.pointerId, event.clientX);
    const places = [...pointers.current.values()];
    if (places.length === 2) {
      const apart = Math.max(10, Math.abs((places[0] as number) - (places[1] as number)));
      if (state.apart > 0) axis.zoom(state.apart / apart, timeAt(((places[0] as number) + (places[1] as number)) / 2));
      state.apart = apart;
      state.moved = true;
      return;
    }
    const by = event.clientX - state.x;
    if (!state.moved && Math.abs(by) < CLICK) return;
    state.moved = true;
    if (state.select) {
      const from = (box.current as HTMLElement).getBoundingClientRect().left;
      const shade = selection.current as HTMLDivElement;
      shade.hidden = false;
      shade.style.left = `${Math.min(state.x, event.clientX) - from}px`;
      shade.style.width = `${Math.abs(by)}px`;
      return;
    }
    axis.pan((-by / Math.max(1, width - LEFT - RIGHT)) * axis.range);
    state.x = event.clientX;
  };
  const up = (event: PointerEvent<HTMLDivElement>) => {
    pointers.current.delete(event.pointerId);
    const state = drag.current;
    drag.current = null;
    if (selection.current) selection.current.hidden = true;
    if (state === null) return;
    if (state.select && state.moved) {
      const ends = [timeAt(state.x), timeAt(event.clientX)].sort((a, b) => a - b) as [number, number];
      axis.show({ start: ends[0], end: ends[1] });
    } else if (!state.moved) {
      point(timeAt(event.clientX));
    }
  };

  const keys = (event: KeyboardEvent) => {
    if ((event.target as HTMLElement).closest('[role="slider"], input, select, button')) return;
    const { step, onKeyboardCursor } = latest.current;
    const { start, end } = axis.span;
    const from = axis.cursor ?? Math.floor(end / step) * step;
    switch (event.key) {
      case 'ArrowLeft':
      case 'ArrowRight': {
        const way = event.key === 'ArrowLeft' ? -1 : 1;
        if (event.shiftKey || fixed) onKeyboardCursor(point(Math.min(Math.max(from + way * step, start), end)));
        else axis.pan(way * 0.25 * axis.range);
        break;
      }
      case '+':
      case '=':
        if (fixed) return;
        axis.zoom(0.5, axis.cursor ?? undefined);
        break;
      case '-':
        if (fixed) return;
        axis.zoom(2, axis.cursor ?? undefined);
        break;
      case 'End':
        if (fixed) return;
        axis.goLive();
        break;
      case 'Escape':
        onKeyboardCursor(point(null));
        break;
      default:
        return;
    }
    event.preventDefault();
  };
  return {
    onKeyDown: keys,
    onPointerDown: down,
    onPointerMove: move,
    onPointerUp: up,
    onPointerCancel: up,
    // A finger that was lifted leaves the cursor where it pointed: there is nothing else to read the values by.
    onPointerLeave: (event: PointerEvent) => {
      if (drag.current === null && event.pointerType !== 'touch') point(null);
    },
    onDoubleClick: (event: { clientX: number }) => {
      if (!fixed) axis.zoom(0.5, timeAt(event.clientX));
    },
  };
}
