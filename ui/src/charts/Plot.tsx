// The part that all charts over time share: two canvases (what is drawn, and what moves over it), the time axis, marks,
// the limit line, and what pointer, wheel, touch and keys do. What is drawn is handed in as `paint`.
import { type KeyboardEvent, type PointerEvent, type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import { useDark } from '../theme/theme.ts';
import { useAxis } from './axis.ts';
import { type ChartColours, chartColours } from './palette.ts';
import { timeTicks } from './units.ts';
import { useWidth } from './useWidth.ts';

export interface Pen {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly left: number;
  readonly top: number;
  readonly innerWidth: number;
  readonly innerHeight: number;
  readonly start: number;
  readonly end: number;
  readonly colours: ChartColours;
  readonly dark: boolean;
  x(time: number): number;
}

/** Where values are, from top to bottom: handed back by `paint`, so that the limit line finds its place. */
export interface ValueScale {
  y(value: number): number;
  value(y: number): number;
}

export interface PlotMark {
  readonly time: number;
  readonly endTime: number | null;
  readonly severity: 'info' | 'warning' | 'critical';
  readonly kind: string;
  readonly title: string;
}

export interface PlotProps {
  /** Said to those who cannot see it. */
  readonly label: string;
  readonly height: number;
  /** Anew whenever what it paints is another thing. */
  readonly paint: (pen: Pen) => ValueScale | null;
  readonly marks: readonly PlotMark[];
  readonly limit?: number | undefined;
  readonly limitText?: string;
  /** The value nearest to where the line is dragged that it may stand at. */
  readonly snap?: (value: number) => number;
  readonly onLimit?: (limit: number) => void;
  /** The length of a column: what shift and an arrow move the cursor by. */
  readonly step: number;
  readonly children?: ReactNode;
  /** Handed the canvas that is drawn on, for the picture that is exported. */
  readonly canvasRef?: (canvas: HTMLCanvasElement | null) => void;
}

export const LEFT = 72;
export const RIGHT = 12;
export const TOP = 12;
export const BOTTOM = 24;
/** A pointer that moved less than this has not dragged. */
const CLICK = 4;

export function Plot(props: PlotProps) {
  const { label, height, paint, marks, limit, onLimit } = props;
  const axis = useAxis();
  const dark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const handle = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const scale = useRef<ValueScale | null>(null);
  const width = useWidth(box);
  const latest = useRef(props);
  latest.current = props;
  const redraw = useRef<(moved: boolean) => void>(() => {});

  useLayoutEffect(() => {
    const [below, above] = [base.current, over.current];
    const context = below?.getContext('2d');
    const overlay = above?.getContext('2d');
    if (!below || !above || !context || !overlay || width === 0) return;
    const ratio = devicePixelRatio;
    for (const canvas of [below, above]) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const colours = chartColours(dark);
    const innerWidth = Math.max(1, width - LEFT - RIGHT);
    const innerHeight = height - TOP - BOTTOM;
    const x = (time: number, start: number, end: number) => LEFT + ((time - start) / (end - start)) * innerWidth;

    const drawBase = () => {
      const { start, end } = axis.span;
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.clearRect(0, 0, width, height);
      context.font = '12px RedHatText, sans-serif';
      context.fillStyle = colours.text;
      context.strokeStyle = colours.grid;
      context.lineWidth = 1;
      context.textAlign = 'center';
      context.textBaseline = 'top';
      for (const { time, text } of timeTicks(start, end, innerWidth, 84)) {
        const at = x(time, start, end);
        if (at < LEFT - 1) continue;
        const half = context.measureText(text).width / 2;
        context.fillText(text, Math.min(Math.max(at, LEFT + half - 8), width - half), height - BOTTOM + 7);
        context.globalAlpha = 0.6;
        context.beginPath();
        context.moveTo(Math.round(at) + 0.5, TOP);
        context.lineTo(Math.round(at) + 0.5, height - BOTTOM);
        context.stroke();
        context.globalAlpha = 1;
      }
      scale.current = latest.current.paint({
        context,
        width,
        height,
        left: LEFT,
        top: TOP,
        innerWidth,
        innerHeight,
        start,
        end,
        colours,
        dark,
        x: (time) => x(time, start, end),
      });
      context.globalAlpha = 1;
      context.setLineDash([]);
      for (const mark of latest.current.marks) {
        if ((mark.endTime ?? mark.time) < start || mark.time > end) continue;
        const from = Math.max(x(mark.time, start, end), LEFT);
        const colour =
          mark.severity === 'critical'
            ? colours.critical
            : mark.severity === 'warning'
              ? colours.warning
              : colours.mark;
        context.fillStyle = colour;
        context.strokeStyle = colour;
        if (mark.endTime !== null) {
          const until = Math.min(x(mark.endTime, start, end), width - RIGHT);
          context.fillRect(from, TOP - 5, Math.max(1, until - from), 3);
        }
        if (mark.time < start) continue;
        context.globalAlpha = 0.7;
        context.setLineDash([2, 3]);
        context.beginPath();
        context.moveTo(Math.round(from) + 0.5, TOP);
        context.lineTo(Math.round(from) + 0.5, height - BOTTOM);
        context.stroke();
        context.setLineDash([]);
        context.globalAlpha = 1;
        context.beginPath();
        context.moveTo(from - 5, TOP - 9);
        context.lineTo(from + 5, TOP - 9);
        context.lineTo(from, TOP - 1);
        context.fill();
      }
      const line = latest.current.limit;
      const knob = handle.current;
      const at = line === undefined ? undefined : scale.current?.y(line);
      if (line !== undefined && at !== undefined && Number.isFinite(at)) {
        const y = Math.min(Math.max(at, TOP), height - BOTTOM);
        context.strokeStyle = colours.limit;
        context.lineWidth = 2;
        context.setLineDash([6, 4]);
        context.beginPath();
        context.moveTo(LEFT, y);
        context.lineTo(width - RIGHT, y);
        context.stroke();
        context.setLineDash([]);
        if (knob) knob.style.top = `${y - 12}px`;
      }
      if (knob) knob.style.visibility = at === undefined ? 'hidden' : 'visible';
    };

    const drawOver = () => {
      overlay.setTransform(ratio, 0, 0, ratio, 0, 0);
      overlay.clearRect(0, 0, width, height);
      const { start, end } = axis.span;
      const { cursor } = axis;
      const words = tip.current;
      if (words) words.hidden = true;
      if (cursor === null || cursor < start || cursor > end) return;
      const at = Math.round(x(cursor, start, end)) + 0.5;
      overlay.strokeStyle = colours.text;
      overlay.lineWidth = 1;
      overlay.beginPath();
      overlay.moveTo(at, TOP);
      overlay.lineTo(at, height - BOTTOM);
      overlay.stroke();
      const near = ((end - start) / innerWidth) * 6;
      const found = latest.current.marks.filter((mark) => Math.abs(mark.time - cursor) <= near).slice(0, 4);
      if (words && found.length > 0) {
        words.hidden = false;
        words.textContent = found.map(({ title }) => title).join('\n');
        words.style.left = `${Math.min(at + 8, width - 190)}px`;
      }
    };

    let frame = 0;
    let all = false;
    // What is scrolled out of sight is not painted until it is back: a long page costs no more than a short one.
    let seen = true;
    const schedule = (moved: boolean) => {
      all ||= moved;
      if (frame !== 0 || !seen) return;
      frame = requestAnimationFrame(() => {
        frame = 0;
        if (all) drawBase();
        all = false;
        drawOver();
      });
    };
    drawBase();
    drawOver();
    redraw.current = schedule;
    const stop = axis.onPaint(schedule);
    const sight = new IntersectionObserver(
      ([entry]) => {
        seen = entry?.isIntersecting ?? true;
        if (seen && all) schedule(true);
      },
      // A little ahead of the scrolling.
      { rootMargin: '300px' },
    );
    sight.observe(below);
    return () => {
      stop();
      sight.disconnect();
      cancelAnimationFrame(frame);
    };
  }, [axis, width, height, dark]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: they are what is drawn
  useLayoutEffect(() => redraw.current(true), [paint, marks, limit]);

  const timeAt = (clientX: number): number => {
    const from = (box.current as HTMLElement).getBoundingClientRect().left + LEFT;
    const { start, end } = axis.span;
    const share = (clientX - from) / Math.max(1, width - LEFT - RIGHT);
    return start + Math.min(Math.max(share, 0), 1) * (end - start);
  };
  const point = (time: number | null) => {
    const { step } = latest.current;
    const column = time === null ? null : Math.floor(time / step) * step;
    axis.point(column);
  };

  // Not React's: a listener that may prevent scrolling has to say so.
  // biome-ignore lint/correctness/useExhaustiveDependencies: it reads the width when it is called
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
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
  }, [axis, width]);

  const pointers = useRef(new Map<number, number>());
  const drag = useRef<{ x: number; moved: boolean; select: boolean; apart: number } | null>(null);
  const selection = useRef<HTMLDivElement>(null);

  const down = (event: PointerEvent<HTMLDivElement>) => {
    if (event.button !== 0 || event.target === handle.current) return;
    pointers.current.set(event.pointerId, event.clientX);
    const places = [...pointers.current.values()];
    const apart = places.length === 2 ? Math.abs((places[0] as number) - (places[1] as number)) : 0;
    drag.current = { x: event.clientX, moved: false, select: event.shiftKey, apart };
    event.currentTarget.setPointerCapture(event.pointerId);
  };
  const move = (event: PointerEvent<HTMLDivElement>) => {
    const state = drag.current;
    if (state === null) return point(timeAt(event.clientX));
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
    const { step } = latest.current;
    const { start, end } = axis.span;
    const from = axis.cursor ?? Math.floor(end / step) * step;
    switch (event.key) {
      case 'ArrowLeft':
      case 'ArrowRight': {
        const way = event.key === 'ArrowLeft' ? -1 : 1;
        if (event.shiftKey) point(Math.min(Math.max(from + way * step, start), end));
        else axis.pan(way * 0.25 * axis.range);
        break;
      }
      case '+':
      case '=':
        axis.zoom(0.5, axis.cursor ?? undefined);
        break;
      case '-':
        axis.zoom(2, axis.cursor ?? undefined);
        break;
      case 'End':
        axis.goLive();
        break;
      case 'Escape':
        point(null);
        break;
      default:
        return;
    }
    event.preventDefault();
  };

  const moveLimit = (y: number) => {
    const value = scale.current?.value(Math.min(Math.max(y, TOP), height - BOTTOM));
    if (value === undefined || !Number.isFinite(value) || onLimit === undefined) return;
    onLimit(latest.current.snap?.(value) ?? value);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a group that takes keys; a fieldset is for forms
    <div
      ref={box}
      role="group"
      className="cistern-plot"
      style={{ height }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is interactive by keyboard
      tabIndex={0}
      aria-label={`${label}. Arrows pan, + and − zoom, Shift and arrows move the cursor, End goes live`}
      onKeyDown={keys}
      onPointerDown={down}
      onPointerMove={move}
      onPointerUp={up}
      onPointerCancel={up}
      onPointerLeave={() => drag.current === null && point(null)}
      onDoubleClick={(event) => axis.zoom(0.5, timeAt(event.clientX))}
    >
      <canvas
        ref={(canvas) => {
          base.current = canvas;
          props.canvasRef?.(canvas);
        }}
        role="img"
        aria-label={label}
      />
      <canvas ref={over} aria-hidden />
      <div ref={selection} className="cistern-selection" hidden />
      <div ref={tip} className="cistern-tip" hidden />
      {limit !== undefined && onLimit !== undefined && (
        <div
          ref={handle}
          role="slider"
          tabIndex={0}
          className="cistern-limit"
          aria-label="Limit"
          aria-orientation="vertical"
          aria-valuenow={limit}
          aria-valuetext={props.limitText ?? String(limit)}
          title="Drag, or use the arrow keys"
          onPointerDown={(event) => {
            event.stopPropagation();
            event.currentTarget.setPointerCapture(event.pointerId);
          }}
          onPointerMove={(event) => {
            event.stopPropagation();
            if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
            moveLimit(event.clientY - (box.current as HTMLElement).getBoundingClientRect().top);
          }}
          onKeyDown={(event) => {
            const way = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
            const at = scale.current?.y(limit);
            if (way === 0 || at === undefined) return;
            event.preventDefault();
            moveLimit(at + way * (event.shiftKey ? 20 : 3));
          }}
        >
          {props.limitText}
        </div>
      )}
      {props.children}
    </div>
  );
}
