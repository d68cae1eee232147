// One interface: how it gets its addresses, and what it is made of.
import { Checkbox, HelperText, HelperTextItem, Title } from '@patternfly/react-core';
import { useState } from 'react';
import { asProblem } from '../../api/problem.ts';
import { TextField } from '../../forms/Field.tsx';
import { FormShell } from '../../forms/FormShell.tsx';
import { SelectField } from '../../forms/SelectField.tsx';
import { type Interface, type Network, withInterface, wordsOf } from './interfaces.ts';
import { useTry } from './useTry.ts';

interface Typed {
  readonly one: Interface;
  readonly v4: string;
  readonly v6: string;
  readonly mtu: string;
  readonly id: string;
}

const METHODS4 = [
  ['dhcp', 'By DHCP'],
  ['static', 'Only those below'],
  ['off', 'None'],
] as const;
const METHODS6 = [
  ['auto', 'By router advertisements and DHCPv6'],
  ['static', 'Only those below'],
  ['off', 'None'],
] as const;
const MODES = [
  ['active-backup', 'One port at a time'],
  ['802.3ad', 'All at once, by LACP'],
] as const;

const wanted = ({ one, v4, v6, mtu, id }: Typed): Interface => ({
  ...one,
  ipv4:
    one.ipv4.method === 'off' ? { ...one.ipv4, addresses: [], gateway: '' } : { ...one.ipv4, addresses: wordsOf(v4) },
  ipv6:
    one.ipv6.method === 'off' ? { ...one.ipv6, addresses: [], gateway: '' } : { ...one.ipv6, addresses: wordsOf(v6) },
  // What is no number is refused by the appliance, at its field.
  mtu: Number(mtu) || 0,
  id: one.kind === 'vlan' ? Number(id) || 0 : 0,
});

function Family(props: {
  label: 'IPv4' | 'IPv6';
  is: Interface['ipv4'] | Interface['ipv6'];
  text: string;
  methods: readonly (readonly [string, string])[];
  example: string;
  message: (path: string) => string | undefined;
  onText: (text: string) => void;
  onChange: (change: object) => void;
}) {
  const { label, is, text, methods, example, message, onText, onChange } = props;
  const path = `/${label.toLowerCase()}`;
  return (
    <>
      <SelectField
        label={`${label} addresses`}
        value={is.method}
        options={methods}
        error={message(`${path}/method`)}
        onChange={(method) => onChange({ method })}
      />
      {is.method !== 'off' && (
        <>
          <TextField
            label={is.method === 'static' ? `Addresses of ${label}` : `More addresses of ${label}`}
            required={is.method === 'static'}
            value={text}
            onChange={onText}
            placeholder={example}
            help="With the length of the network; several with spaces between them."
            error={message(`${path}/addresses`)}
            autoComplete="off"
          />
          <TextField
            label={`Gateway of ${label}`}
            value={is.gateway}
            onChange={(gateway) => onChange({ gateway: gateway.trim() })}
            help={
              is.method === 'static'
                ? 'The router to all other networks. Empty: none by this interface.'
                : 'Empty: as the network says.'
            }
            error={message(`${path}/gateway`)}
            autoComplete="off"
          />
        </>
      )}
    </>
  );
}

export function InterfaceForm(props: { network: Network; setting: Interface; isNew: boolean; onDone: () => void }) {
  const { network, setting, isNew, onDone } = props;
  const [typed, setTyped] = useState<Typed>({
    one: setting,
    ...{ v4: setting.ipv4.addresses.join(' '), v6: setting.ipv6.addresses.join(' ') },
    ...{ mtu: String(setting.mtu), id: String(setting.id) },
  });
  const [isolated, setIsolated] = useState(false);
  const { one } = typed;
  const set = (change: Partial<Interface>) => setTyped({ ...typed, one: { ...one, ...change } });
  const send = useTry(onDone);
  const settings = withInterface(network, isNew ? null : setting.name, wanted(typed));
  const problem = send.error ? asProblem(send.error) : null;
  // The one that is edited is the last of what was sent.
  const prefix = `/interfaces/${settings.interfaces.length - 1}`;
  const message = (path: string) =>
    problem?.errors?.find((error) => error.path === prefix + path || error.path.startsWith(`${prefix}${path}/`))
      ?.message;
  const fields = [
    '/name',
    '/mtu',
    '/mode',
    '/members',
    '/parent',
    '/id',
    '/ipv4/method',
    '/ipv4/gateway',
    '/ipv6/method',
  ]
    .concat(['/ipv4/addresses', '/ipv6/addresses', '/ipv6/gateway'])
    .map((path) => prefix + path)
    .concat(problem?.errors?.map(({ path }) => path).filter((path) => path.startsWith(`${prefix}/`)) ?? []);
  const asksWhetherIsolated = isolated || (message('/ipv4/gateway')?.includes('none is wanted') ?? false);
  const ports = network.links.filter(({ kind }) => kind === 'port');
  const parents = network.links.filter(({ kind, bond }) => kind === 'bond' || (kind === 'port' && bond === ''));
  return (
    <FormShell
      submit="Try"
      name={isNew ? 'New interface' : setting.name}
      onSubmit={() => send.mutate({ settings, isolated })}
      busy={send.isPending}
      error={send.error}
      fields={fields}
      cancel={onDone}
    >
      <Title headingLevel="h2" size="lg">
        {isNew ? (one.kind === 'bond' ? 'A new bond' : 'A new VLAN') : setting.name}
      </Title>
      {isNew && (
        <TextField
          label="Name"
          required
          value={one.name}
          onChange={(name) => set({ name })}
          error={message('/name')}
          help="Small letters, and a number at the end."
          autoComplete="off"
        />
      )}
      {one.kind === 'bond' && (
        <>
          <SelectField
            label="How it uses its ports"
            value={one.mode === '' ? 'active-backup' : one.mode}
            options={MODES}
            error={message('/mode')}
            onChange={(mode) => set({ mode, fastLacp: mode === '802.3ad' && one.fastLacp })}
            help={one.mode === '802.3ad' ? 'The switch has to be set up for it, too.' : 'Needs nothing of the switch.'}
          />
          <fieldset className="cistern-choices">
            <legend>Ports</legend>
            {ports.map(({ name }) => (
              <Checkbox
                key={name}
                id={`network-member-${name}`}
                label={name}
                isChecked={one.members.includes(name)}
                onChange={(_event, on) =>
                  set({ members: on ? [...one.members, name] : one.members.filter((other) => other !== name) })
                }
              />
            ))}
            {message('/members') && (
              <HelperText>
                <HelperTextItem variant="error">{message('/members')}</HelperTextItem>
              </HelperText>
            )}
          </fieldset>
          {one.mode === '802.3ad' && (
            <Checkbox
              id="network-lacp-rate"
              label="The switch is asked every second, not every 30, whether it is there"
              isChecked={one.fastLacp}
              onChange={(_event, fastLacp) => set({ fastLacp })}
            />
          )}
        </>
      )}
      {one.kind === 'vlan' && (
        <>
          <SelectField
            label="On"
            value={one.parent}
            options={parents.map(({ name }) => [name, name] as const)}
            error={message('/parent')}
            onChange={(parent) => set({ parent })}
          />
          <TextField
            label="Number of the VLAN"
            required
            inputMode="numeric"
            value={typed.id}
            onChange={(id) => setTyped({ ...typed, id })}
            error={message('/id')}
            help="1 to 4094, as the switch has it."
          />
        </>
      )}
      <Family
        {...{ label: 'IPv4', is: one.ipv4, text: typed.v4, methods: METHODS4, example: '192.0.2.10/24', message }}
        onText={(v4) => setTyped({ ...typed, v4 })}
        onChange={(change) => set({ ipv4: { ...one.ipv4, ...change } })}
      />
      {asksWhetherIsolated && (
        <Checkbox
          id="network-isolated"
          label="No gateway is wanted: only the machine’s own networks are to be reached"
          isChecked={isolated}
          onChange={(_event, on) => setIsolated(on)}
        />
      )}
      <Family
        {...{ label: 'IPv6', is: one.ipv6, text: typed.v6, methods: METHODS6, example: '2001:db8::10/64', message }}
        onText={(v6) => setTyped({ ...typed, v6 })}
        onChange={(change) => set({ ipv6: { ...one.ipv6, ...change } })}
      />
      <TextField
        label="MTU"
        inputMode="numeric"
        value={typed.mtu}
        onChange={(mtu) => setTyped({ ...typed, mtu })}
        error={message('/mtu')}
        help="Bytes that a packet may have: 1500, unless all that is connected takes more."
      />
      <p className="cistern-quiet">
        It holds for two minutes, and is then taken back unless it is kept at an address that the machine has then.
      </p>
    </FormShell>
  );
}
