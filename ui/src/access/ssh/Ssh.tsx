// Whether users come in by ssh: the switch, its end, from where, and who has keys.
import { Alert, Label, Switch, Title } from '@patternfly/react-core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { HowTo } from './HowTo.tsx';
import { KeyList } from './KeyList.tsx';
import { accessQuery } from './queries.ts';
import { whenWords } from './words.ts';

type Access = Schemas['SshAccess'];

const HOUR_MS = 3_600_000;
const lasts = [
  ['1', 'an hour'],
  ['8', 'eight hours'],
  ['24', 'a day'],
  ['168', 'a week'],
  ['672', 'four weeks'],
] as const;
/** `as-set`: its end stays. */
type Lasts = (typeof lasts)[number][0] | 'as-set';

interface Draft {
  readonly on: boolean;
  readonly lasts: Lasts;
  readonly networks: string;
}
const draftOf = ({ enabledUntil, networks }: Access): Draft => ({
  on: enabledUntil !== null,
  lasts: enabledUntil === null ? '8' : 'as-set',
  networks: networks.join(' '),
});
const same = (a: Draft, b: Draft) => JSON.stringify(a) === JSON.stringify(b);
const ownWords = ({ ownNetworks }: Access) =>
  ownNetworks.length === 0 ? '' : `, now ${ownNetworks.filter((one) => !/^(fe80:|169\.254\.)/.test(one)).join(', ')}`;

function AccessForm({ access }: { access: Access }) {
  // Null: nothing was typed, and what is seen is what holds; its end comes by itself.
  const [typed, setTyped] = useState<Draft | null>(null);
  const draft = typed ?? draftOf(access);
  const set = (change: Partial<Draft>) => setTyped({ ...draft, ...change });
  const queries = useQueryClient();
  const edit = useEdited({
    now: access,
    read: () => queries.fetchQuery({ ...accessQuery, staleTime: 0 }),
    onLoad: (current, before) => setTyped((mine) => mine && keepTyped(mine, draftOf(before), draftOf(current))),
    editing: !same(draft, draftOf(access)),
  });
  const save = useMutation({
    mutationFn: (sent: Draft) => {
      const end = () => new Date(Date.now() + Number(sent.lasts) * HOUR_MS).toISOString();
      return edit.guard(
        answerOf(
          client.PUT('/api/ssh-access', {
            params: { header: edit.header },
            body: {
              enabledUntil: !sent.on ? null : sent.lasts === 'as-set' ? access.enabledUntil : end(),
              networks: sent.networks.split(/[\s,;]+/).filter((one) => one !== ''),
            },
          }),
        ),
      );
    },
    onSuccess: async (after, sent) => {
      edit.saved(after);
      setTyped((mine) => (mine === null || same(mine, sent) ? null : mine));
      await queries.invalidateQueries({ queryKey: accessQuery.queryKey });
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const ofNetworks = problem?.errors?.find(({ path }) => path.startsWith('/networks'))?.path ?? '/networks';
  return (
    <FormShell
      name="Who may come in by ssh"
      submit="Save"
      onSubmit={() => save.mutate(draft)}
      busy={save.isPending}
      error={save.error}
      fields={['/enabledUntil', ofNetworks]}
      mayNot={same(draft, draftOf(access)) ? 'Nothing was changed.' : null}
    >
      <Switch
        label="Users may come in by ssh (TCP port 22)"
        isChecked={draft.on}
        onChange={(_event, on) => set({ on })}
      />
      {draft.on && (
        <>
          <SelectField<Lasts>
            label="Until"
            value={draft.lasts}
            onChange={(chosen) => set({ lasts: chosen })}
            options={[
              ...(access.enabledUntil === null
                ? []
                : [['as-set', `${whenWords(access.enabledUntil)}, as it is`] as const]),
              ...lasts.map(([hours, words]) => [hours, `${words} from now`] as const),
            ]}
            help="Then it is off by itself, and every session ends."
            error={fieldMessage(problem, '/enabledUntil')}
          />
          <TextField
            label="Only from these addresses"
            value={draft.networks}
            onChange={(networks) => set({ networks })}
            placeholder="own 192.0.2.0/24"
            help={`Addresses or networks, with spaces between them; own: this appliance's networks${ownWords(access)}. The firewall follows.`}
            error={fieldMessage(problem, ofNetworks)}
            autoComplete="off"
          />
        </>
      )}
      {access.enabledUntil !== null && (
        <p className="cistern-quiet">
          When something is taken from anybody – a key, a network, time – all sessions end.
        </p>
      )}
    </FormShell>
  );
}

export function Ssh() {
  const access = useQuery(accessQuery);
  const { data, error, refetch } = access;
  if (data === undefined) return <Waiting on={access} />;
  if (!data.available) {
    return (
      <Alert isInline component="p" variant="info" title="Users of the appliance cannot come in by ssh on this system.">
        <p>
          The shell that records each command is for Debian. Whoever administers this machine uses the sshd of the
          operating system, with an account of the operating system; what is done there is not in the audit log.
        </p>
      </Alert>
    );
  }
  return (
    <div className="cistern-stack">
      <p>
        ssh is{' '}
        {data.enabledUntil === null ? (
          <Label>off</Label>
        ) : (
          <>
            <Label color="green">on</Label> until {whenWords(data.enabledUntil)}.
          </>
        )}{' '}
        Operators and administrators come in by keys of their own, into an account that has no system shell but commands
        that read. Each of them is in the <Link to="/settings/audit">audit log</Link>.
      </p>
      {data.problem !== null && (
        <Alert
          isInline
          component="p"
          variant="danger"
          title="What is set here does not hold yet; it is tried again each minute."
        >
          <p>{data.problem}</p>
        </Alert>
      )}
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      <AccessForm access={data} />
      <section aria-labelledby="ssh-how">
        <Title headingLevel="h2" size="lg" id="ssh-how">
          How to come in
        </Title>
        <HowTo access={data} />
      </section>
      <section aria-labelledby="ssh-keys">
        <Title headingLevel="h2" size="lg" id="ssh-keys">
          Keys
        </Title>
        <p className="cistern-quiet">
          Everybody adds keys of their own in <Link to="/profile">their profile</Link>.
        </p>
        <KeyList everyone />
      </section>
    </div>
  );
}
