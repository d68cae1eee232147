// The addresses of the machine: which interfaces there are, how they are addressed, and trying something else.
import { Alert, Button, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { Explained } from '../../forms/Explained.tsx';
import { Facts } from '../../shells/Facts.tsx';
import { ListTable } from '../../shells/ListTable.tsx';
import { Waiting } from '../../shells/Waiting.tsx';
import { Ago } from '../../words/Ago.tsx';
import { ConditionIcon } from '../../words/ConditionIcon.tsx';
import { ProblemAlert } from '../../words/ProblemAlert.tsx';
import { InterfaceForm } from './InterfaceForm.tsx';
import {
  type Interface,
  kindWords,
  methodWords,
  newInterface,
  type Row,
  routesText,
  rowsOf,
  withoutInterface,
} from './interfaces.ts';
import { NamesForm } from './NamesForm.tsx';
import { networkQuery } from './queries.ts';
import { Trying } from './Trying.tsx';
import { useTry } from './useTry.ts';

const CONDITION = { up: 'ok', down: 'info', wrong: 'warning' } as const;
const ANSWERS = new Map([
  [true, 'answers'],
  [false, 'does not answer'],
  [null, 'not asked yet'],
]);

export function Network() {
  const reading = useQuery(networkQuery);
  const { data, error, refetch, dataUpdatedAt } = reading;
  const [editing, setEditing] = useState<{ setting: Interface; isNew: boolean } | 'names' | null>(null);
  const done = () => setEditing(null);
  const remove = useTry(done);
  if (data === undefined) return <Waiting on={reading} />;
  const { trying, ended, settings } = data;
  if (editing === 'names' && trying === null) return <NamesForm network={data} onDone={done} />;
  if (editing !== null && editing !== 'names' && trying === null)
    return <InterfaceForm key={editing.setting.name} network={data} {...editing} onDone={done} />;
  const why = trying === null ? null : 'End the change that is being tried first.';
  const action = (words: string, label: string, run: () => void) => (
    <Explained why={why}>
      <Button variant="link" isInline isAriaDisabled={why !== null} aria-label={label} onClick={run}>
        {words}
      </Button>
    </Explained>
  );
  const add = (kind: 'bond' | 'vlan', words: string) => (
    <Explained why={why}>
      <Button
        variant="secondary"
        isAriaDisabled={why !== null}
        onClick={() => setEditing({ setting: newInterface(kind, data), isNew: true })}
      >
        {words}
      </Button>
    </Explained>
  );
  return (
    <div className="cistern-stack">
      {trying && <Trying trying={trying} readAt={dataUpdatedAt} />}
      {trying === null && ended && (
        <Alert isInline component="p" variant="warning" title="The last change was taken back.">
          <p>
            {ended.why} <Ago time={ended.at} />
          </p>
        </Alert>
      )}
      {data.unreadable && (
        <Alert isInline component="p" variant="danger" title="What was set of the network cannot be read any more.">
          Every port asks for its addresses. Set them anew.
        </Alert>
      )}
      <p>{data.sentence}</p>
      {error && <ProblemAlert error={error} retry={() => void refetch()} stale />}
      <ProblemAlert error={remove.error} />
      <ListTable<Row>
        label="Interfaces"
        rows={rowsOf({ ...data, settings: trying?.settings ?? settings })}
        keyOf={({ setting }) => setting.name}
        columns={[
          {
            title: 'Interface',
            cell: ({ setting }) => (
              <div>
                <span className="cistern-name">{setting.name}</span>
                <div className="cistern-quiet">{kindWords(setting)}</div>
              </div>
            ),
          },
          {
            title: 'State',
            cell: ({ link }) =>
              link === null ? (
                'It is not there.'
              ) : (
                <span>
                  <ConditionIcon state={CONDITION[link.state]} /> {link.sentence}
                </span>
              ),
          },
          {
            title: 'Addresses',
            cell: ({ link }) => (link === null || link.addresses.length === 0 ? '–' : link.addresses.join(', ')),
          },
          {
            title: 'Set',
            cell: ({ setting, isSet }) => (isSet ? methodWords(setting) : 'nothing: it asks for its addresses'),
          },
          { title: 'MTU', modifier: 'nowrap', cell: ({ link, setting }) => link?.mtu ?? setting.mtu },
          {
            title: 'Actions',
            control: 'actions',
            cell: ({ setting }) => (
              <span className="cistern-rowactions">
                {action('Change', `Change ${setting.name}`, () => setEditing({ setting, isNew: false }))}
                {setting.kind !== 'port' &&
                  action('Remove', `Remove ${setting.name}`, () =>
                    remove.mutate({ settings: withoutInterface(data, setting.name) }),
                  )}
              </span>
            ),
          },
        ]}
      />
      <div className="cistern-actions">
        {add('vlan', 'Add a VLAN')}
        {add('bond', 'Add a bond')}
      </div>
      <section aria-labelledby="network-names">
        <Title headingLevel="h2" size="lg" id="network-names">
          Names and routes
        </Title>
        <Facts
          facts={[
            [
              'Gateway',
              data.gateways.length === 0
                ? 'none'
                : data.gateways
                    .map((one) => `${one.address} by ${one.interface}, ${ANSWERS.get(one.answers)}`)
                    .join('; '),
            ],
            ['DNS servers', data.dns.join(', ') || 'none'],
            ['Search domains', data.search.join(', ') || 'none'],
            ['Routes', routesText(trying?.settings ?? settings).replaceAll('\n', '; ') || 'none'],
          ]}
        />
        <div>{action('Change', 'Change names and routes', () => setEditing('names'))}</div>
      </section>
    </div>
  );
}
