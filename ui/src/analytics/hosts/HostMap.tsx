// The map of squares: one canvas, which the arrow keys walk through; what is under the cursor is said below it.
import { type KeyboardEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useNavigate } from 'react-router';
import { rampColour } from '../../charts/palette.ts';
import { useWidth } from '../../charts/useWidth.ts';
import { useDark } from '../../theme/theme.ts';
import { plural } from '../../words/format.ts';
import { layoutOf, neighbour, paintMap, rangeOf, squareAt } from './paintMap.ts';
import { groupsOf, type Host, type HostsView, type Values } from './view.ts';
import { fillWords, hostPath, hostSentence, valueWords } from './words.ts';

const KEYS = new Set(['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown', 'Home', 'End']);

function MapLegend({ range, view, dark }: { range: readonly [number, number]; view: HostsView; dark: boolean }) {
  const shade = (at: number) => `rgb(${rampColour(at, dark).join(' ')})`;
  return (
    <div className="cistern-map-legend">
      <span>{fillWords(view)}:</span>
      <span className="cistern-number">{valueWords(range[0], view)}</span>
      <span
        className="cistern-map-ramp"
        style={{ background: `linear-gradient(to right, ${[0, 0.33, 0.66, 1].map(shade).join(', ')})` }}
      />
      <span className="cistern-number">{valueWords(range[1], view)}</span>
      <span>
        <i className="cistern-map-sign cistern-map-none" /> no value
      </span>
      <span>
        <i className="cistern-map-sign">╲</i> late
      </span>
      <span>
        <i className="cistern-map-sign">╳</i> absent
      </span>
      <span>
        <i className="cistern-map-sign cistern-map-unlike" /> unlike its peers
      </span>
    </div>
  );
}

export function HostMap({ hosts, values, view }: { hosts: readonly Host[]; values: Values; view: HostsView }) {
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(box);
  const dark = useDark();
  const navigate = useNavigate();
  const [current, setCurrent] = useState(-1);
  const groups = useMemo(() => groupsOf(hosts, view.group), [hosts, view.group]);
  const layout = useMemo(() => layoutOf(groups, width), [groups, width]);
  const range = useMemo(() => rangeOf(values, hosts, view.metric === ''), [values, hosts, view.metric]);
  const latest = useRef(layout);
  latest.current = layout;

  useLayoutEffect(() => {
    const element = canvas.current;
    const pen = element?.getContext('2d');
    if (!element || !pen || width === 0) return;
    const ratio = window.devicePixelRatio || 1;
    element.width = Math.round(width * ratio);
    element.height = Math.round(layout.height * ratio);
    const began = performance.now();
    paintMap(pen, layout, { values, range, dark, current, ratio, width });
    // For whoever measures how long it takes.
    performance.measure('hosts-map', { start: began, end: performance.now() });
  }, [layout, values, range, dark, current, width]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another list has other squares
  useEffect(() => setCurrent(-1), [view.search, view.group, view.sort]);

  const pointed = (event: { clientX: number; clientY: number }) => {
    const at = canvas.current?.getBoundingClientRect();
    return at === undefined ? -1 : squareAt(latest.current, event.clientX - at.left, event.clientY - at.top);
  };
  const open = (at: number) => {
    const one = layout.squares[at];
    if (one !== undefined) void navigate(hostPath(one.host.name));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter') open(current);
    else if (KEYS.has(event.key)) setCurrent(current < 0 ? 0 : neighbour(layout, current, event.key));
    else if (event.key === 'Escape') setCurrent(-1);
    else return;
    event.preventDefault();
  };
  const one = layout.squares[current]?.host;
  return (
    <>
      <MapLegend range={range} view={view} dark={dark} />
      <div
        ref={box}
        className="cistern-map"
        role="application"
        aria-label={`Map of ${plural(hosts.length, 'host')}: arrow keys walk through it, Enter opens a host`}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the arrow keys walk through its squares
        tabIndex={0}
        onKeyDown={onKeyDown}
        onPointerMove={(event) => setCurrent(pointed(event))}
        onPointerLeave={() => setCurrent(-1)}
        onClick={(event) => open(pointed(event))}
      >
        <canvas ref={canvas} aria-hidden style={{ width, height: layout.height }} />
      </div>
      <p className="cistern-map-words" aria-live="polite">
        {one === undefined
          ? 'Point at a square, or walk with the arrow keys.'
          : hostSentence(one, values.get(one.name), view)}
      </p>
    </>
  );
}
