// How long measurements are kept, by granularity. A shorter retention removes what is older for good: that has to be
// confirmed, with the day before which nothing is kept.
import { Button, Card, CardBody, CardTitle } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { useEdited } from '../../api/edits.ts';
import { nowKnown } from '../../api/known.ts';
import { asProblem } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { bytes } from '../../words/format.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';

type Kept = Schemas['RetentionInput'];

const DAY = 86_400;
const MAX_DAYS = 200 * 365;
const FIELDS = [
  ['rawSeconds', 'As they came, each second (days)'],
  ['minuteSeconds', 'Of each minute (days)'],
  ['hourSeconds', 'Of each hour (days)'],
] as const;
const date = new Intl.DateTimeFormat(undefined, { dateStyle: 'long' });

/** What is wrong with each of the three, by its place. */
function complaints(days: readonly number[]): (string | undefined)[] {
  return days.map((value, at) => {
    if (!Number.isInteger(value) || value < 1 || value > MAX_DAYS) return `From 1 to ${MAX_DAYS} whole days.`;
    if (at > 0 && value < (days[at - 1] as number)) return 'Not shorter than the one before it.';
    return undefined;
  });
}

/** Which granularities lose something that is stored, and from when on they will be there. */
function losses(before: Schemas['Retention'], after: Kept, now: number): string[] {
  const { oldest } = before.stored;
  if (oldest === null) return [];
  return FIELDS.flatMap(([key]) => {
    const from = now / 1000 - after[key];
    if (after[key] >= before[key] || oldest >= from) return [];
    const what = { rawSeconds: 'each second', minuteSeconds: 'each minute', hourSeconds: 'each hour' }[key];
    return [`The values of ${what} from before ${date.format(from * 1000)} are removed.`];
  });
}

export function RetentionForm() {
  const queries = useQueryClient();
  const mayNot = useMayNot('administrator');
  const [typed, setTyped] = useState<Partial<Record<keyof Kept, string>>>({});
  const [asking, setAsking] = useState<string[] | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['retention'],
    queryFn: ({ signal }) => answerOf(client.GET('/api/retention', { signal })),
    retry: false,
  });
  const edit = useEdited({
    now: data,
    read: () => answerOf(client.GET('/api/retention')),
    onLoad: (current) => void nowKnown(queries, ['retention'], current),
    editing: Object.keys(typed).length > 0,
  });
  const save = useMutation({
    mutationFn: (body: Kept) =>
      edit.guard(answerOf(client.PUT('/api/retention', { params: { header: edit.header }, body }))),
    onSuccess: async (now, saved) => {
      await nowKnown(queries, ['retention'], now);
      edit.saved(now);
      // What was typed since it was sent is kept.
      setTyped((typed) =>
        Object.fromEntries(
          FIELDS.flatMap(([key]) => {
            const text = typed[key];
            return text === undefined || Number(text) * DAY === saved[key] ? [] : [[key, text]];
          }),
        ),
      );
    },
  });
  // That the store does not answer is shown above the table already.
  if (data === undefined) {
    return error && asProblem(error).code !== 'service_unavailable' ? (
      <ProblemAlert error={error} retry={() => void refetch()} />
    ) : null;
  }
  const days = FIELDS.map(([key]) => {
    const text = typed[key];
    return text === undefined ? data[key] / DAY : text.trim() === '' ? Number.NaN : Number(text);
  });
  const wrong = complaints(days);
  const [raw, minute, hour] = days.map((value) => value * DAY) as [number, number, number];
  const wanted: Kept = { rawSeconds: raw, minuteSeconds: minute, hourSeconds: hour };
  const same = FIELDS.every(([key]) => wanted[key] === data[key]);
  const why = mayNot ?? (same ? 'Nothing has been changed.' : wrong.some(Boolean) ? 'Correct the values first.' : null);
  return (
    <Card component="section" aria-labelledby="retention-title">
      <CardTitle component="h2" id="retention-title">
        How long measurements are kept
      </CardTitle>
      <CardBody>
        <p>
          Of each minute and each hour the sums, extremes and whole histograms are kept beside the measurements; charts
          of long times are drawn from them, also when the measurements themselves have gone. On disk are{' '}
          {bytes(data.stored.rawBytes)} of measurements and {bytes(data.stored.rollupBytes)} of minutes and hours
          {data.stored.oldest === null ? '' : `, from ${date.format(data.stored.oldest * 1000)} on`}.
        </p>
        <form
          className="cistern-fields"
          onSubmit={(event) => {
            event.preventDefault();
            if (why !== null) return;
            const lost = losses(data, wanted, Date.now());
            if (lost.length > 0) setAsking(lost);
            else save.mutate(wanted);
          }}
        >
          {FIELDS.map(([key, label], at) => (
            <TextField
              key={key}
              label={label}
              inputMode="numeric"
              value={typed[key] ?? String(data[key] / DAY)}
              error={wrong[at]}
              live
              onChange={(text) => setTyped({ ...typed, [key]: text })}
            />
          ))}
          <Explained why={why}>
            <Button type="submit" variant="secondary" isAriaDisabled={why !== null} isLoading={save.isPending}>
              Save
            </Button>
          </Explained>
        </form>
        <ProblemAlert error={save.error} />
      </CardBody>
      {asking !== null && (
        <Confirm
          title="Remove old measurements?"
          action="Remove them"
          danger
          onConfirm={() => save.mutateAsync(wanted)}
          onClose={() => setAsking(null)}
        >
          {asking.map((line) => (
            <p key={line}>{line}</p>
          ))}
          <p>This begins within a minute and cannot be undone; snapshots of the file system keep what they hold.</p>
        </Confirm>
      )}
    </Card>
  );
}
