// The time that all charts of a page show: chosen, paused, live again, and in words.
import { Button, FormSelect, FormSelectOption } from '@patternfly/react-core';
import PauseIcon from '@patternfly/react-icons/dist/esm/icons/pause-icon';
import PlayIcon from '@patternfly/react-icons/dist/esm/icons/play-icon';
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
    </div>
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
