// Whom the machine asks for names, and its ways to other networks.
import { Checkbox, Title } from '@patternfly/react-core';
import { useState } from 'react';
import { asProblem } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { LinesField } from '../../forms/LinesField.tsx';
import { type Network, routesOf, routesText, wordsOf } from './interfaces.ts';
import { useTry } from './useTry.ts';

export function NamesForm({ network, onDone }: { network: Network; onDone: () => void }) {
  const { settings } = network;
  const [dns, setDns] = useState(settings.dns.join(' '));
  const [search, setSearch] = useState(settings.search.join(' '));
  const [fromNetwork, setFromNetwork] = useState(settings.dnsFromNetwork);
  const [routes, setRoutes] = useState(routesText(settings));
  const send = useTry(onDone);
  const errors = (send.error ? asProblem(send.error) : null)?.errors ?? [];
  const message = (path: string) =>
    errors.find((error) => error.path === path || error.path.startsWith(`${path}/`))?.message;
  const own = ['/dns', '/search', '/routes'];
  const wanted = {
    ...settings,
    ...{ dns: wordsOf(dns), search: wordsOf(search), dnsFromNetwork: fromNetwork, routes: routesOf(routes) },
  };
  return (
    <FormShell
      submit="Try"
      name="Names and routes"
      onSubmit={() => send.mutate({ settings: wanted })}
      busy={send.isPending}
      error={send.error}
      fields={errors.map(({ path }) => path).filter((path) => own.some((one) => path.startsWith(one)))}
      cancel={onDone}
    >
      <Title headingLevel="h2" size="lg">
        Names and routes
      </Title>
      <TextField
        label="DNS servers"
        value={dns}
        onChange={setDns}
        placeholder="192.0.2.53"
        help="Up to three addresses, with spaces between them."
        error={message('/dns')}
        autoComplete="off"
      />
      <TextField
        label="Search domains"
        value={search}
        onChange={setSearch}
        placeholder="example.org"
        help="Appended to names without a dot."
        error={message('/search')}
        autoComplete="off"
      />
      <Checkbox
        id="network-dns-from-network"
        label="Also those that the network names (DHCP, router advertisements)"
        isChecked={fromNetwork}
        onChange={(_event, on) => setFromNetwork(on)}
      />
      <LinesField
        label="Routes"
        value={routes}
        onChange={setRoutes}
        help="A line for each: 198.51.100.0/24 via 192.0.2.9"
        error={message('/routes')}
      />
    </FormShell>
  );
}
