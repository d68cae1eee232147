// Who may poll this appliance by SNMP. Off, nothing listens; secrets are typed, never shown.
import { Switch } from '@patternfly/react-core';
import { queryOptions, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Link } from 'react-router';
import mib from '../../../../appliance-kit/mib/CISTERN-MIB.txt?url';
import { answerOf, client, type Schemas } from '../../api/client.ts';
import { keepTyped, useEdited } from '../../api/edits.ts';
import { asProblem, fieldMessage } from '../../api/problem.ts';
import { useMayNot } from '../../api/session.ts';
import { Explained } from '../../forms/Explained.tsx';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { CommunityField, UserSecurityFields } from '../../forms/SnmpFields.tsx';
import { Waiting } from '../../shells/Waiting.tsx';

type Settings = Schemas['SnmpAgent'];

const agentQuery = queryOptions({
  queryKey: ['status', 'snmp-agent'],
  queryFn: ({ signal }) => answerOf(client.GET('/api/snmp-agent', { signal })),
});

const words = (text: string) => text.split(/[\s,;]+/).filter((one) => one !== '');
const stored = (set: boolean) => (set ? 'Stored; type here only to change it.' : undefined);
/** A secret is sent only when something was typed: left out, the stored one stays. */
const secret = <K extends string>(name: K, value: string) =>
  (value === '' ? {} : { [name]: value }) as { [P in K]?: string };

const fields = [
  ...['/community', '/user', '/authPassword', '/privPassword', '/contact', '/location'],
  ...Array.from({ length: 20 }, (_, n) => `/sources/${n}`),
];

function draftOf(settings: Settings) {
  const { enabled, sources, user, authProtocol, contact, location } = settings;
  return {
    ...{ enabled, user, authProtocol, contact, location, sources: sources.join(', ') },
    ...{ community: '', authPassword: '', privPassword: '' },
    byCommunity: settings.communitySet || user === '',
  };
}

function AgentForm({ settings, mayNot }: { settings: Settings; mayNot: string | null }) {
  const [draft, setDraft] = useState(() => draftOf(settings));
  const set = (change: Partial<typeof draft>) => setDraft((now) => ({ ...now, ...change }));
  const queries = useQueryClient();
  const { enabled, byCommunity, contact, location, authProtocol } = draft;
  const user = draft.user.trim();
  const edit = useEdited({
    now: settings,
    read: () => answerOf(client.GET('/api/snmp-agent')),
    onLoad: (current, before) => setDraft((mine) => keepTyped(mine, draftOf(before), draftOf(current))),
    editing: JSON.stringify(draft) !== JSON.stringify(draftOf(settings)),
  });
  const save = useMutation({
    mutationFn: (_sent: typeof draft) =>
      edit.guard(
        answerOf(
          client.PUT('/api/snmp-agent', {
            params: { header: edit.header },
            body: {
              ...{ enabled, contact: contact.trim(), location: location.trim(), sources: words(draft.sources) },
              ...{ user, authProtocol, ...secret('community', draft.community) },
              ...(byCommunity ? {} : { community: '' }),
              ...(user !== '' && {
                ...secret('authPassword', draft.authPassword),
                ...secret('privPassword', draft.privPassword),
              }),
            },
          }),
        ),
      ),
    onSuccess: async (after, sent) => {
      edit.saved(after);
      // What was typed since it was sent is kept.
      setDraft((mine) => (mine === sent ? draftOf(after) : mine));
      await queries.invalidateQueries({ queryKey: agentQuery.queryKey });
    },
  });
  const problem = save.error ? asProblem(save.error) : null;
  const at = (path: string) => fieldMessage(problem, path);
  return (
    <FormShell
      submit="Save who may poll"
      onSubmit={() => save.mutate(draft)}
      busy={save.isPending}
      error={save.error}
      fields={fields}
      mayNot={mayNot}
    >
      <Explained why={mayNot}>
        <Switch
          label="Answer SNMP polls (UDP port 161)"
          isChecked={enabled}
          isDisabled={mayNot !== null}
          onChange={(_event, on) => set({ enabled: on })}
        />
      </Explained>
      {enabled && (
        <>
          <Switch
            label="SNMPv2c, by a community"
            isChecked={byCommunity}
            onChange={(_event, on) => set({ byCommunity: on, community: '' })}
          />
          {byCommunity && (
            <>
              <CommunityField
                help={stored(settings.communitySet) ?? 'It goes over the network in the clear; SNMPv3 does not.'}
                value={draft.community}
                onChange={(community) => set({ community })}
                error={at('/community')}
              />
              <TextField
                label="Taken from"
                help="Networks, as 192.0.2.0/24; empty: from everywhere."
                value={draft.sources}
                onChange={(sources) => set({ sources })}
                error={problem?.errors?.find(({ path }) => path.startsWith('/sources'))?.message}
                autoComplete="off"
              />
            </>
          )}
          <TextField
            label="SNMPv3 user"
            help="Authenticated, and encrypted with AES; empty: no SNMPv3."
            value={draft.user}
            onChange={(name) => set({ user: name })}
            error={at('/user')}
            autoComplete="off"
          />
          {user !== '' && (
            <UserSecurityFields
              authProtocol={authProtocol}
              onAuthProtocol={(protocol) => set({ authProtocol: protocol })}
              authPassword={{
                help: stored(settings.authPasswordSet),
                value: draft.authPassword,
                onChange: (authPassword) => set({ authPassword }),
                error: at('/authPassword'),
              }}
              privPassword={{
                help: stored(settings.privPasswordSet),
                value: draft.privPassword,
                onChange: (privPassword) => set({ privPassword }),
                error: at('/privPassword'),
              }}
            />
          )}
          <div className="cistern-pair">
            <TextField
              label="Contact"
              value={contact}
              onChange={(text) => set({ contact: text })}
              error={at('/contact')}
              autoComplete="off"
            />
            <TextField
              label="Location"
              value={location}
              onChange={(text) => set({ location: text })}
              error={at('/location')}
              autoComplete="off"
            />
          </div>
        </>
      )}
      {save.isSuccess && (
        <p role="status">Saved: {save.data.enabled ? 'polls are answered.' : 'polls are not answered.'}</p>
      )}
    </FormShell>
  );
}

export function SnmpAgent() {
  const mayNot = useMayNot('administrator');
  const { data, error, refetch } = useQuery(agentQuery);
  if (data === undefined) return <Waiting on={{ error, refetch }} />;
  return (
    <div className="cistern-stack">
      <p>
        Pools, disks, datasets, services, active alerts and what is taken in, as tables of CISTERN-MIB (
        <a href={mib} download="CISTERN-MIB.txt">
          download it
        </a>
        ), beside the system group and the network interfaces. Values that are not known at a moment are not answered.
        Traps are a <Link to="/alerts/destinations">destination of alerts</Link>.
      </p>
      <AgentForm settings={data} mayNot={mayNot} />
    </div>
  );
}
