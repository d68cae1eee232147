// Whom the appliance asks for the time: a row for each server.
import { Button, Checkbox, Switch, TextInput } from '@patternfly/react-core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { answerOf, client } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { Field } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { timeQuery } from './queries.ts';
import { adviceOf, type Draft, draftOf, inputOf, same, type TimeServer, type TimeState } from './servers.ts';

const MOST = 16;
const PATHS = Array.from({ length: MOST }, (_, at) => `/servers/${at}/address`);
const EMPTY: TimeServer = { address: '', pool: false, nts: false };

function ServerRow(props: {
  server: TimeServer;
  place: number;
  error: string | undefined;
  onChange: (server: TimeServer) => void;
  onRemove: () => void;
}) {
  const { server, place, error, onChange, onRemove } = props;
  const which = `server ${place}`;
  return (
    <div className="cistern-timeserver">
      <Field label={`Time server ${place}`} error={error}>
        {(id, described, complaint) => (
          <TextInput
            id={id}
            value={server.address}
            placeholder="ntp1.example.org"
            validated={complaint ? 'error' : 'default'}
            aria-describedby={complaint ? described : undefined}
            autoComplete="off"
            onChange={(_event, address) => onChange({ ...server, address })}
          />
        )}
      </Field>
      <span className="cistern-rowactions">
        <Checkbox
          id={`time-pool-${place}`}
          label="Pool"
          aria-label={`Pool: the name of ${which} stands for many`}
          isChecked={server.pool}
          onChange={(_event, pool) => onChange({ ...server, pool })}
        />
        <Checkbox
          id={`time-nts-${place}`}
          label="NTS"
          aria-label={`NTS: only authenticated answers of ${which}`}
          isChecked={server.nts}
          onChange={(_event, nts) => onChange({ ...server, nts })}
        />
        <Button variant="link" isInline aria-label={`Remove ${which}`} onClick={onRemove}>
          Remove
        </Button>
      </span>
    </div>
  );
}

export function TimeServers({ time, mayNot }: { time: TimeState; mayNot: string | null }) {
  // Null: nothing was typed, and what is seen is what holds.
  const [typed, setTyped] = useState<Draft | null>(null);
  const draft = typed ?? draftOf(time);
  const set = (change: Partial<Draft>) => setTyped({ ...draft, ...change });
  const queries = useQueryClient();
  const changed = !same(inputOf(draft), draftOf(time));
  const edit = useEdited({
    now: time,
    read: () => queries.fetchQuery({ ...timeQuery, staleTime: 0 }),
    onLoad: (current, before) => setTyped((mine) => mine && keepTyped(mine, draftOf(before), draftOf(current))),
    editing: changed,
  });
  const save = useMutation({
    mutationFn: (sent: Draft) =>
      edit.guard(answerOf(client.PUT('/api/time', { params: { header: edit.header }, body: inputOf(sent) }))),
    onSuccess: async (after, sent) => {
      edit.saved(after);
      setTyped((mine) => (mine === null || same(mine, sent) ? null : mine));
      await queries.invalidateQueries({ queryKey: timeQuery.queryKey });
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  // The appliance counts the rows that were sent.
  const sentPlace = (at: number) => draft.servers.slice(0, at).filter(({ address }) => address.trim() !== '').length;
  const advice = adviceOf(draft);
  return (
    <FormShell
      name="Time servers"
      submit="Save the time servers"
      onSubmit={() => save.mutate(draft)}
      busy={save.isPending}
      error={save.error}
      fields={PATHS}
      mayNot={mayNot ?? (changed ? null : 'Nothing was changed.')}
    >
      {draft.servers.map((server, at) => (
        <ServerRow
          // biome-ignore lint/suspicious/noArrayIndexKey: a row is its place in the list
          key={at}
          {...{ server, place: at + 1 }}
          error={server.address.trim() === '' ? undefined : fieldMessage(problem, `/servers/${sentPlace(at)}/address`)}
          onChange={(one) => set({ servers: draft.servers.with(at, one) })}
          onRemove={() => set({ servers: draft.servers.toSpliced(at, 1) })}
        />
      ))}
      <div>
        <Button
          variant="secondary"
          isAriaDisabled={mayNot !== null || draft.servers.length >= MOST}
          onClick={() => set({ servers: [...draft.servers, EMPTY] })}
        >
          Add a time server
        </Button>
      </div>
      <p className="cistern-quiet">
        Pool: the name stands for many servers, of which up to four are asked. NTS: only answers that the server has
        authenticated are taken (TCP port 4460).
      </p>
      <Switch
        label="Ask the servers that the network names (DHCP) as well"
        isChecked={draft.fromNetwork}
        isDisabled={mayNot !== null}
        onChange={(_event, fromNetwork) => set({ fromNetwork })}
      />
      {advice !== null && <p role="status">{advice}</p>}
    </FormShell>
  );
}
