// The grip of a limit line: dragged, or moved by the arrow keys.
import type { RefObject } from 'react';
import type { ValueScale } from './pen.ts';

export function LimitHandle(props: {
  grip: RefObject<HTMLDivElement | null>;
  limit: number;
  text: string;
  /** Where values are, as last painted. */
  scale: RefObject<ValueScale | null>;
  /** Moves the line to a height in the chart. */
  onMove: (y: number) => void;
}) {
  const { limit, scale, onMove } = props;
  return (
    <div
      ref={props.grip}
      role="slider"
      tabIndex={0}
      className="cistern-limit"
      aria-label="Limit"
      aria-orientation="vertical"
      aria-valuenow={limit}
      aria-valuetext={props.text || String(limit)}
      title="Drag, or use the arrow keys"
      onPointerDown={(event) => {
        event.stopPropagation();
        event.currentTarget.setPointerCapture(event.pointerId);
      }}
      onPointerMove={(event) => {
        event.stopPropagation();
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return;
        const plot = event.currentTarget.parentElement as HTMLElement;
        onMove(event.clientY - plot.getBoundingClientRect().top);
      }}
      onKeyDown={(event) => {
        const way = event.key === 'ArrowUp' ? -1 : event.key === 'ArrowDown' ? 1 : 0;
        const at = scale.current?.y(limit);
        if (way === 0 || at === undefined) return;
        event.preventDefault();
        onMove(at + way * (event.shiftKey ? 20 : 3));
      }}
    >
      {props.text}
    </div>
  );
}
