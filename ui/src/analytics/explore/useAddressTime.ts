// The time axis of a page whose address holds the time: it follows the address, and writes what it is moved to.
import { useEffect, useRef, useState } from 'react';
import { type Settled, TimeAxis, useTicking } from '../../charts/axis.ts';

const rounded = ({ range, end }: Settled): Settled => ({
  range: Math.round(range),
  end: end === null ? null : Math.round(end),
});

export function useAddressTime({ range, end }: Settled, write: (time: Settled) => void): TimeAxis {
  const [axis] = useState(() => new TimeAxis({ range, end }));
  const latest = useRef(write);
  latest.current = write;
  useEffect(() => {
    const shown = rounded(axis.settled);
    if (shown.range !== range || shown.end !== end) axis.set({ range, end });
  }, [axis, range, end]);
  useEffect(() => axis.onSettled(() => latest.current(rounded(axis.settled))), [axis]);
  useTicking(axis);
  return axis;
}
