// The time that all charts of a page show: chosen, paused, live again, and in words.
import {
  Button,
  Dropdown,
  DropdownItem,
  DropdownList,
  FormSelect,
  FormSelectOption,
  MenuToggle,
} from '@patternfly/react-core';
import LinkIcon from '@patternfly/react-icons/dist/esm/icons/link-icon';
import PauseIcon from '@patternfly/react-icons/dist/esm/icons/pause-icon';
import PlayIcon from '@patternfly/react-icons/dist/esm/icons/play-icon';
import { useEffect, useState } from 'react';
import { useNavigate } from 'react-router';
import { type TimeAxis, useSettled } from '../../charts/axis.ts';
import { duration } from '../../words/format.ts';

const ranges: readonly [seconds: number, text: string][] = [
  [60, 'Last minute'],
  [300, 'Last 5 minutes'],
  [900, 'Last 15 minutes'],
  [3600, 'Last hour'],
  [21_600, 'Last 6 hours'],
  [86_400, 'Last day'],
  [604_800, 'Last week'],
];

export function TimeControls({ axis }: { axis: TimeAxis }) {
  const { range, end } = useSettled(axis);
  const navigate = useNavigate();
  /** Of what is shown: whoever marks a part of a chart is shown that. */
  const changed = () => {
    const { start, end } = axis.span;
    navigate(`/analytics/changed?start=${Math.floor(start)}&end=${Math.ceil(end)}`);
  };
  const known = ranges.some(([seconds]) => seconds === range);
  return (
    <div className="cistern-time">
      <FormSelect
        aria-label="Time range"
        value={range}
        onChange={(_event, value) => axis.set({ range: Number(value), end })}
      >
        {!known && <FormSelectOption value={range} label={duration(range)} />}
        {ranges.map(([seconds, text]) => (
          <FormSelectOption key={seconds} value={seconds} label={end === null ? text : duration(seconds)} />
        ))}
      </FormSelect>
      <Button
        variant={end === null ? 'secondary' : 'primary'}
        icon={end === null ? <PauseIcon /> : <PlayIcon />}
        onClick={() => (end === null ? axis.pause() : axis.goLive())}
      >
        {end === null ? 'Pause' : 'Go live'}
      </Button>
      <Button variant="secondary" onClick={changed}>
        What changed?
      </Button>
      <CopyLink axis={axis} />
    </div>
  );
}

/** How long it is said that something was copied. */
const SAID_MS = 4_000;

/** A link shows to others what is seen now, also later; that it shows what is live then is a choice. */
function CopyLink({ axis }: { axis: TimeAxis }) {
  const { range, end } = useSettled(axis);
  const [open, setOpen] = useState(false);
  const [said, setSaid] = useState('');
  useEffect(() => {
    if (said === '') return;
    const timer = setTimeout(() => setSaid(''), SAID_MS);
    return () => clearTimeout(timer);
  }, [said]);
  const copy = (to: number | null) => {
    const link = new URL(location.href);
    link.searchParams.set('range', String(Math.round(range)));
    if (to === null) link.searchParams.delete('end');
    else link.searchParams.set('end', String(Math.round(to)));
    navigator.clipboard.writeText(link.href).then(
      () => setSaid(to === null ? 'Copied: it shows what is live.' : 'Copied: it shows this moment.'),
      () => setSaid('The browser does not let this page copy: take the address from its bar.'),
    );
  };
  return (
    <>
      <Dropdown
        isOpen={open}
        onOpenChange={setOpen}
        onSelect={() => setOpen(false)}
        popperProps={{ position: 'right' }}
        toggle={(ref) => (
          <MenuToggle
            ref={ref}
            icon={<LinkIcon />}
            aria-label="Copy link"
            title="Copy link"
            isExpanded={open}
            onClick={() => setOpen(!open)}
          />
        )}
      >
        <DropdownList>
          <DropdownItem onClick={() => copy(end ?? axis.span.end)}>To what is shown now</DropdownItem>
          <DropdownItem onClick={() => copy(null)}>Live: to the last {duration(range)} then</DropdownItem>
        </DropdownList>
      </Dropdown>
      <span role="status" className="cistern-said">
        {said}
      </span>
    </>
  );
}

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

/** The time that is shown, in words. */
export function TimeWords({ axis }: { axis: TimeAxis }) {
  const { range, end } = useSettled(axis);
  if (end === null) return <>Live: the last {duration(range)}.</>;
  return (
    <>
      Paused: {duration(range)} up to {moment.format(end * 1000)}.
    </>
  );
}
