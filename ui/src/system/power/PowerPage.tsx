// Since when the appliance runs, how it ended before, and rebooting or switching it off: now, or at a time.
import { Button, TextInput, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Confirm } from '../../forms/Confirm.tsx';
import { Explained } from '../../forms/Explained.tsx';
import { Field, TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { PageShell } from '../../shells/PageShell.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago, useNow } from '../../words/Ago.tsx';
import { localTime } from '../../words/localTime.ts';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { MaintenanceTabs } from '../MaintenanceTabs.tsx';
import { ACTIONS, type Action, MEANS, type Plan, type PowerState, planWords, powerQuery } from './power.ts';

const PATHS = ['/at', '/reason'];

function Planned({ plan, mayNot }: { plan: Plan; mayNot: string | null }) {
  const queries = useQueryClient();
  const now = useNow();
  const cancel = useMutation({
    mutationFn: () => answerOf(client.DELETE('/api/power-plan')),
    onSuccess: () => queries.invalidateQueries({ queryKey: powerQuery.queryKey }),
  });
  return (
    <div className="cistern-stack">
      <p>{planWords(plan, now)}</p>
      <ProblemAlert error={cancel.error} />
      <div>
        <Explained why={mayNot}>
          <Button
            variant="secondary"
            isLoading={cancel.isPending}
            isAriaDisabled={mayNot !== null || cancel.isPending}
            onClick={() => cancel.mutate()}
          >
            Cancel it
          </Button>
        </Explained>
      </div>
    </div>
  );
}

function PlanForm({ mayNot }: { mayNot: string | null }) {
  const queries = useQueryClient();
  const [action, setAction] = useState<Action>('reboot');
  const [at, setAt] = useState(() => localTime(Date.now() + 3_600_000));
  const [reason, setReason] = useState('');
  const make = useMutation({
    mutationFn: () =>
      answerOf(client.POST('/api/power-plan', { body: { action, at: new Date(at).toISOString(), reason } })),
    onSuccess: (state) => queries.setQueryData(powerQuery.queryKey, state),
  });
  const problem = make.error ? asProblem(make.error) : undefined;
  const missing = Number.isNaN(Date.parse(at))
    ? 'Choose a time first.'
    : reason.trim() === ''
      ? 'Say why first.'
      : null;
  return (
    <FormShell
      submit="Plan it"
      onSubmit={() => make.mutate()}
      busy={make.isPending}
      error={make.error}
      fields={PATHS}
      mayNot={mayNot ?? missing}
    >
      <Field label="What to do">
        {(id) => (
          <select
            id={id}
            className="cistern-select"
            value={action}
            onChange={(event) => setAction(event.target.value as Action)}
          >
            {Object.entries(ACTIONS).map(([name, { title }]) => (
              <option key={name} value={name}>
                {title}
              </option>
            ))}
          </select>
        )}
      </Field>
      <Field label="When" required error={fieldMessage(problem, '/at')} help="In your time zone.">
        {(id, described, complaint) => (
          <TextInput
            id={id}
            type="datetime-local"
            value={at}
            validated={complaint ? 'error' : 'default'}
            aria-describedby={described}
            onChange={(_event, text) => setAt(text)}
          />
        )}
      </Field>
      <TextField
        label="Why"
        required
        value={reason}
        onChange={setReason}
        error={fieldMessage(problem, '/reason')}
        help="Everybody who opens a page sees it on the day before."
      />
    </FormShell>
  );
}

function Now({ mayNot }: { mayNot: string | null }) {
  const [asked, setAsked] = useState<Action | null>(null);
  const [told, setTold] = useState<Action | null>(null);
  const act = async (action: Action) => {
    await answerOf(action === 'reboot' ? client.POST('/api/machine/reboot') : client.POST('/api/machine/power-off'));
    setTold(action);
  };
  return (
    <>
      <div className="cistern-actions">
        {(Object.keys(ACTIONS) as Action[]).map((action) => (
          <Explained key={action} why={mayNot}>
            <Button
              variant={action === 'reboot' ? 'secondary' : 'danger'}
              isAriaDisabled={mayNot !== null}
              onClick={() => setAsked(action)}
            >
              {ACTIONS[action].title}
            </Button>
          </Explained>
        ))}
      </div>
      {told && <p role="status">It shuts down now. {told === 'reboot' ? 'This page goes on when it is back.' : ''}</p>}
      {asked && (
        <Confirm
          title={`${ACTIONS[asked].title} now?`}
          action={`${ACTIONS[asked].title} now`}
          danger={asked === 'power-off'}
          onConfirm={() => act(asked)}
          onClose={() => setAsked(null)}
        >
          <p>{MEANS[asked]}</p>
          <p>
            Meanwhile nothing is measured, and what is sent here by statsd or Graphite is lost. Senders of remote write
            and agents that keep what they could not send repeat it.
          </p>
        </Confirm>
      )}
    </>
  );
}

function Ran({ state: { startedAt, ended, replayed } }: { state: PowerState }) {
  const store =
    replayed === null ? (
      'It does not answer.'
    ) : (
      <>
        Started <Ago time={replayed.at} />. {replayed.sentence}
      </>
    );
  return (
    <Facts
      isHorizontal
      isCompact
      facts={[
        ['Started', <Ago key="started" time={startedAt} />],
        ...(ended.at === null
          ? []
          : [
              [
                ended.how === 'interrupted' ? 'Seen to run before' : 'Shut down before',
                <Ago key="ended" time={ended.at} />,
              ] as const,
            ]),
        ['The store', store],
      ]}
    />
  );
}

export default function PowerPage() {
  const mayNot = useMayNot('administrator');
  const { data, error, refetch } = useQuery(powerQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} page />;
  return (
    <PageShell
      title="Power"
      state={data.ended.how === 'interrupted' ? 'warning' : 'ok'}
      sentence={data.sentence}
      tabs={<MaintenanceTabs active="power" />}
    >
      <div className="cistern-stack">
        {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
        <Ran state={data} />
        <section className="cistern-stack" aria-labelledby="power-now">
          <Title headingLevel="h2" id="power-now">
            Now
          </Title>
          <Now mayNot={mayNot} />
        </section>
        <section className="cistern-stack" aria-labelledby="power-plan">
          <Title headingLevel="h2" id="power-plan">
            At a time
          </Title>
          {data.plan === null ? <PlanForm mayNot={mayNot} /> : <Planned plan={data.plan} mayNot={mayNot} />}
        </section>
      </div>
    </PageShell>
  );
}
