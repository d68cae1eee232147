// What else lets somebody in: polls, replications and ssh are no inputs of samples, but whoever looks for what comes from the
// network looks here.
import { Label, Title } from '@patternfly/react-core';
import { useQuery } from '@tanstack/react-query';
import { Link } from 'react-router';
import { ListTable } from '../../shells/ListTable.tsx';
import { compact } from '../../words/format.ts';
import { firewallQuery } from '../firewall/queries.ts';
import { fromWords, portsOf, titleOf } from '../firewall/words.ts';

/** Where each is switched on. */
const places: Readonly<Record<string, readonly [title: string, path: string]>> = {
  snmp: ['SNMP agent', '/maintenance/snmp'],
  replication: ['Replication', '/storage/replication'],
  ssh: ['SSH', '/settings/ssh'],
};

export function OtherWays() {
  const { data } = useQuery(firewallQuery);
  const others = data?.services.filter(({ name }) => places[name] !== undefined) ?? [];
  if (data === undefined || others.length === 0) return null;
  return (
    <section aria-labelledby="input-others">
      <Title headingLevel="h2" size="lg" id="input-others">
        Other ways in
      </Title>
      <p className="cistern-quiet">
        No samples come by these. Their networks are set at the <Link to="/settings/firewall">firewall</Link>, those of
        SSH where it is switched on.
      </p>
      <ListTable
        label="Other ways in"
        rows={others}
        keyOf={({ name }) => name}
        columns={[
          {
            title: 'Way',
            cell: (way) => (
              <span>
                {titleOf(way)} {way.ports.length > 0 ? <Label color="green">on</Label> : <Label>off</Label>}
              </span>
            ),
          },
          { title: 'Where', cell: ({ ports }) => portsOf(ports) || '–' },
          {
            title: 'From',
            cell: (way) => (way.ports.length > 0 ? fromWords(way, data.ownNetworks) : 'closed'),
          },
          {
            title: 'Dropped',
            head: { modifier: 'nowrap' },
            cell: ({ dropped }) => (dropped === null ? '–' : compact(dropped)),
          },
          {
            title: 'Actions',
            control: 'actions',
            cell: ({ name }) => {
              const [title, path] = places[name] ?? ['', '/'];
              return <Link to={path}>{title}</Link>;
            },
          },
        ]}
      />
    </section>
  );
}
