// The part that all charts over time share: two canvases (what is drawn, and what moves over it), the time axis, marks,
// the limit line and the gestures. What is drawn is handed in as `paint`.
import { type ReactNode, useEffect, useLayoutEffect, useRef } from 'react';
import { useDark } from '../theme/theme.ts';
import { useAxis } from './axis.ts';
import { type Box, boxOf } from './box.ts';
import { LimitHandle } from './LimitHandle.tsx';
import { groupInWords } from './marks.ts';
import {
  BOTTOM,
  LEFT,
  markGroups,
  type Pen,
  type PlotMark,
  paintCursor,
  paintLimit,
  paintMarks,
  paintTimeAxis,
  penOf,
  RIGHT,
  TOP,
  type ValueScale,
} from './pen.ts';
import { useBoxGesture } from './useBoxGesture.ts';
import { usePlotGestures } from './usePlotGestures.ts';
import { useWidth } from './useWidth.ts';

export interface PlotProps {
  /** Read by screen readers. */
  readonly label: string;
  readonly height: number;
  /** Anew whenever what it paints is another thing. */
  readonly paint: (pen: Pen) => ValueScale | null;
  readonly marks: readonly PlotMark[];
  readonly limit?: number | undefined;
  /** The lower end of a band, of which `limit` is the upper one. */
  readonly lowerLimit?: number | undefined;
  readonly limitText?: string;
  /** The value nearest to where the line is dragged that it may stand at. */
  readonly snap?: (value: number) => number;
  readonly onLimit?: ((limit: number) => void) | undefined;
  /** The length of a column: what an arrow moves the cursor by. */
  readonly step: number;
  /** The time that is shown cannot be changed here: gestures only point. */
  readonly fixed?: boolean;
  /** A box is drawn: instead of moving the time, gestures mark a part of the picture. */
  readonly drawing?: PlotDrawing | undefined;
  /** What is at a moment, in words: announced when the cursor is moved by keys. */
  readonly read: (time: number) => string;
  readonly children?: ReactNode;
  /** Handed the canvas that is drawn on, for the picture that is exported. */
  readonly canvasRef?: ((canvas: HTMLCanvasElement | null) => void) | undefined;
}

export interface PlotDrawing {
  readonly on: boolean;
  readonly done: (box: Box) => void;
  readonly cancel: () => void;
  /** Announced when the box is moved by keys. */
  readonly words: (box: Box) => string;
}

export function Plot(props: PlotProps) {
  const { label, height, paint, marks, limit, lowerLimit, onLimit, fixed = false } = props;
  const axis = useAxis();
  const dark = useDark();
  const box = useRef<HTMLDivElement>(null);
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const grip = useRef<HTMLDivElement>(null);
  const tip = useRef<HTMLDivElement>(null);
  const selection = useRef<HTMLDivElement>(null);
  const shade = useRef<HTMLDivElement>(null);
  const spoken = useRef<HTMLParagraphElement>(null);
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
    const penOn = (canvas: CanvasRenderingContext2D): Pen => {
      canvas.setTransform(ratio, 0, 0, ratio, 0, 0);
      canvas.clearRect(0, 0, width, height);
      return penOf(canvas, { width, height, dark, ...axis.span });
    };

    const drawBase = () => {
      const pen = penOn(context);
      paintTimeAxis(pen);
      scale.current = latest.current.paint(pen);
      context.globalAlpha = 1;
      context.setLineDash([]);
      paintMarks(pen, latest.current.marks);
      const line = latest.current.limit;
      const at = line === undefined ? undefined : scale.current?.y(line);
      const knob = grip.current;
      if (at !== undefined && Number.isFinite(at)) {
        const y = paintLimit(pen, at);
        if (knob) knob.style.top = `${y - 12}px`;
      }
      const { lowerLimit } = latest.current;
      const lower = lowerLimit === undefined ? undefined : scale.current?.y(lowerLimit);
      if (lower !== undefined && Number.isFinite(lower)) paintLimit(pen, lower);
      if (knob) knob.style.visibility = at === undefined ? 'hidden' : 'visible';
    };

    const drawOver = () => {
      const pen = penOn(overlay);
      const { start, end } = pen;
      const { cursor } = axis;
      const words = tip.current;
      if (words) words.hidden = true;
      if (cursor === null || cursor < start || cursor > end) return;
      paintCursor(pen, cursor);
      const near = ((end - start) / pen.innerWidth) * 6;
      const found = markGroups(pen, latest.current.marks)
        .filter(({ time, last }) => cursor >= time - near && cursor <= last + near)
        .slice(0, 4);
      if (words && found.length > 0) {
        words.hidden = false;
        words.textContent = found.map(groupInWords).join('\n');
        words.style.left = `${Math.min(pen.x(cursor) + 8, width - 190)}px`;
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
  useLayoutEffect(() => redraw.current(true), [paint, marks, limit, lowerLimit]);

  const gestures = usePlotGestures({
    box,
    selection,
    width,
    step: props.step,
    fixed,
    onKeyboardCursor: (time) => {
      if (spoken.current) spoken.current.textContent = time === null ? '' : latest.current.read(time);
    },
  });
  const boxAt = (rect: Parameters<typeof boxOf>[0]): Box | null => {
    if (scale.current === null) return null;
    const { start, end } = axis.span;
    const timeAt = (x: number) => start + ((x - LEFT) / Math.max(1, width - LEFT - RIGHT)) * (end - start);
    return boxOf(
      rect,
      { timeAt, step: props.step, scale: scale.current },
      { top: TOP, bottom: scale.current.bottom ?? height - BOTTOM },
    );
  };
  const { drawing } = props;
  const boxing = useBoxGesture({
    on: drawing?.on ?? false,
    ...{ box, shade, width, height },
    done: (rect) => {
      const found = boxAt(rect);
      if (found !== null) drawing?.done(found);
    },
    cancel: () => drawing?.cancel(),
    moved: (rect) => {
      const found = boxAt(rect);
      if (spoken.current && found !== null) spoken.current.textContent = drawing?.words(found) ?? '';
    },
  });
  // Whoever switches drawing on by a key goes on by keys.
  useEffect(() => {
    if (drawing?.on) box.current?.focus({ preventScroll: true });
  }, [drawing?.on]);
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
      data-fixed={fixed}
      data-drawing={drawing?.on ?? false}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it is interactive by keyboard
      tabIndex={0}
      aria-label={`${label}. ${
        drawing?.on
          ? 'Arrows move the box, with Shift its lower right corner, Enter takes it, Escape gives it up'
          : fixed
            ? 'Arrows move the cursor'
            : 'Arrows pan, + and − zoom, Shift and arrows move the cursor, End goes live'
      }`}
      {...gestures}
      {...(drawing?.on ? boxing : {})}
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
      <div ref={shade} className="cistern-boxdraft" hidden />
      <div ref={tip} className="cistern-tip" hidden />
      <p ref={spoken} className="pf-v6-screen-reader" aria-live="polite" />
      {limit !== undefined && onLimit !== undefined && (
        <LimitHandle grip={grip} limit={limit} text={props.limitText ?? ''} scale={scale} onMove={moveLimit} />
      )}
      {props.children}
    </div>
  );
}
