// Who may reach the appliance from the network.
import { closed, component, Line, nullable, type Static, Time, Type } from '../../base/schema/schema.ts';

export const Networks = Type.Array(Line({ maxLength: 49 }), {
  maxItems: 100,
  description:
    'addresses and networks that may reach it, as 192.0.2.0/24, and `own` for those that the appliance has an address in; none: everybody',
});

const Port = closed({
  protocol: Type.Enum(['tcp', 'udp']),
  port: Type.Integer({ minimum: 1, maximum: 65_535 }),
});

const Sender = component('FirewallSender', {
  address: Type.String(),
  ports: Type.Array(Port),
  packets: Type.Integer({ minimum: 0, description: 'that were dropped within the last hour' }),
  firstAt: Time,
});

const Service = component('FirewallService', {
  name: Type.String({ description: 'https, snmp, replication, ssh, or that of an input' }),
  ports: Type.Array(Port, { description: 'none: it is off, and so closed' }),
  networks: Networks,
  setAt: Type.Enum(['firewall', 'inputs', 'ssh'], {
    description: 'where its networks are set now: here, at the input of its name, or where ssh is switched on',
  }),
  dropped: nullable(
    Type.Integer({ minimum: 0, description: 'packets since counting began; null: it is open to everybody, or off' }),
  ),
  overLimit: nullable(
    Type.Integer({
      minimum: 0,
      description:
        'packets that would have begun a connection more than the 256 that an address may have, since counting began; null: it has no such limit',
    }),
  ),
  senders: Type.Array(Sender, {
    description: 'whose packets were dropped within the last hour, and still would be: the worst first',
  }),
});

export const Firewall = component('Firewall', {
  services: Type.Array(Service, { description: 'as they hold now' }),
  ownNetworks: Type.Array(Type.String(), { description: 'what `own` stands for at this moment' }),
  droppedOther: Type.Integer({ minimum: 0, description: 'packets for no service, since counting began' }),
  sendersKnown: Type.Boolean({ description: 'whether this system remembers whose packets were dropped' }),
  sendersFull: Type.Boolean({ description: 'there were more senders than are remembered' }),
  trying: nullable(
    component('FirewallTry', {
      by: Type.String(),
      secondsLeft: Type.Number({ minimum: 0, description: 'then it is taken back' }),
      mayConfirm: Type.Boolean({ description: 'false: nobody can, as the management plane was restarted meanwhile' }),
    }),
  ),
  differsAt: nullable(Time),
  differs: Type.Array(Type.String(), {
    description: 'what was loaded otherwise than it should be, when that was last found; it was loaded anew',
  }),
});
export type Firewall = Static<typeof Firewall>;

export const FirewallTryInput = component('FirewallTryInput', {
  services: Type.Array(closed({ name: Type.String({ maxLength: 32 }), networks: Networks }), {
    minItems: 1,
    maxItems: 16,
    description: 'those that change; those of inputs are changed at the input',
  }),
  seconds: Type.Optional(
    Type.Integer({ minimum: 10, maximum: 600, description: 'until it is taken back unless it is confirmed; 60' }),
  ),
});
export type FirewallTryInput = Static<typeof FirewallTryInput>;
