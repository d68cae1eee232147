// Everything that an alert can be sent to, as programs that no one here wrote: an SMTP server with TLS and authentication,
// net-snmp's trap receiver for SNMPv2c and for v3, rsyslog over TLS; and a web server that checks the signature. They run on
// this machine, where the guest finds them at 10.0.2.2, and can be stopped and started again on the same ports.
import { createHmac, timingSafeEqual } from 'node:crypto';
import https from 'node:https';
import type { TestContext } from 'node:test';
import { type Signed, signed } from '../../appliance-kit/tests/certificates.ts';
import { rsyslogd, type SyslogReceiver } from '../../appliance-kit/tests/rsyslogd.ts';
import { type Mailbox, smtp } from '../../appliance-kit/tests/smtp.ts';
import { type Receiver, snmptrapd } from '../../appliance-kit/tests/snmptrapd.ts';
import { steadyPorts } from '../ports.ts';

/** Where the guest finds this machine. */
export const HOST = '10.0.2.2';
const MIB = '.1.3.6.1.4.1.8072.9999.9999.7710';
/** A signature is as good as its time: older ones may be repeated by anybody who has seen them. */
const FRESH_S = 300;

/** One message, as a receiver has understood it. */
export interface Received {
  readonly id: string;
  readonly event: string;
  readonly class: string;
  /** The alerts that it is about; a trap does not name them. */
  readonly alerts: readonly string[];
  readonly text: string;
}
export type Name = 'mail' | 'v2c' | 'v3' | 'syslog' | 'webhook';
export const names: readonly Name[] = ['mail', 'v2c', 'v3', 'syslog', 'webhook'];

const secrets = {
  mail: { user: 'cistern', password: 'c4nary-Mail-Pw' },
  community: 'c4nary-Community',
  v3: { user: 'cistern', authPassword: 'c4nary auth pass', privPassword: 'c4nary priv pass' },
  webhook: 'c4nary-Signing-Key',
};

function fromMail({ content }: { content: string }): Received {
  const header = (name: string) => new RegExp(`^${name}: (.*)$`, 'mi').exec(content)?.[1]?.trim() ?? '';
  return {
    id: header('X-Cistern-Event-Id'),
    event: header('X-Cistern-Event'),
    class: header('X-Cistern-Class'),
    alerts: [header('X-Cistern-Alert-Id')],
    text: content,
  };
}

function fromTrap(line: string): Received {
  const variable = (number: number) =>
    new RegExp(`${MIB}\\.1\\.1\\.${number} = STRING: "([^"]*)"`).exec(line)?.[1] ?? '';
  const event = line.includes(`${MIB}.0.2`) ? 'clear' : line.includes(`${MIB}.0.1`) ? 'raise' : '';
  return { id: variable(1), event, class: variable(2), alerts: [], text: line };
}

function fromSyslog(line: string): Received {
  const parameter = (name: string) => new RegExp(` ${name}="([^"]*)"`).exec(line)?.[1] ?? '';
  return {
    id: parameter('eventId'),
    event: parameter('event'),
    class: parameter('class'),
    alerts: [parameter('alert')],
    text: line,
  };
}

interface Posted {
  readonly eventId: string;
  readonly event: string;
  readonly alert: { id: string; class: string };
  readonly group?: { items: { id: string; event: string }[] };
}

export class Receivers {
  readonly #t: TestContext;
  readonly #ports: Record<Name, number>;
  readonly #identity: Signed;
  readonly #received: Record<Name, Received[]> = { mail: [], v2c: [], v3: [], syslog: [], webhook: [] };
  /** What was wrong with what came: an empty list is how it should be. */
  readonly wrong: string[] = [];
  #mail: Mailbox | undefined;
  #v2c: Receiver | undefined;
  #v3: Receiver | undefined;
  #syslog: SyslogReceiver | undefined;
  #web: https.Server | undefined;

  private constructor(t: TestContext, ports: readonly number[]) {
    this.#t = t;
    this.#ports = Object.fromEntries(names.map((name, at) => [name, ports[at] as number])) as Record<Name, number>;
    this.#identity = signed([`IP:${HOST}`, 'IP:127.0.0.1']);
  }

  static async start(t: TestContext): Promise<Receivers> {
    const receivers = new Receivers(t, await steadyPorts(names.length));
    t.after(() => receivers.#web?.close());
    await receivers.start();
    return receivers;
  }

  async start(): Promise<void> {
    const { certificate, key } = this.#identity;
    const { authPassword, privPassword } = secrets.v3;
    [this.#mail, this.#v2c, this.#v3, this.#syslog, this.#web] = await Promise.all([
      smtp(this.#t, { ...secrets.mail, certificate, key, port: this.#ports.mail }),
      snmptrapd(this.#t, `authCommunity log "${secrets.community}"`, this.#ports.v2c),
      snmptrapd(
        this.#t,
        `createUser ${secrets.v3.user} SHA-512 "${authPassword}" AES "${privPassword}"\nauthUser log ${secrets.v3.user} priv`,
        this.#ports.v3,
      ),
      rsyslogd(this.#t, this.#ports.syslog, this.#identity),
      this.#listen(),
    ]);
  }

  async #listen(): Promise<https.Server> {
    const { certificate: cert, key } = this.#identity;
    const server = https.createServer({ cert, key }, (request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        const timestamp = String(request.headers['x-cistern-timestamp']);
        const hmac = createHmac('sha256', secrets.webhook).update(`${timestamp}.`).update(body).digest('hex');
        const [given, right] = [
          Buffer.from(String(request.headers['x-cistern-signature'])),
          Buffer.from(`sha256=${hmac}`),
        ];
        const good = given.length === right.length && timingSafeEqual(given, right);
        const fresh = Math.abs(Date.now() / 1000 - Number(timestamp)) < FRESH_S;
        if (!good || !fresh) {
          this.wrong.push(`webhook: ${good ? `the timestamp is ${timestamp}` : 'the signature is wrong'}`);
          response.writeHead(403).end();
          return;
        }
        const { eventId, event, alert, group } = JSON.parse(body.toString('utf8')) as Posted;
        if (request.headers['x-cistern-delivery'] !== eventId)
          this.wrong.push(`webhook: ${eventId} has another delivery id`);
        const alerts = group ? group.items.map(({ id }) => id) : [alert.id];
        this.#received.webhook.push({ id: eventId, event, class: alert.class, alerts, text: body.toString('utf8') });
        response.writeHead(204).end();
      });
    });
    await new Promise<void>((resolve) => server.listen(this.#ports.webhook, '127.0.0.1', resolve));
    return server;
  }

  /** All of them at once; what they have heard so far is kept. */
  async stop(): Promise<void> {
    const [v2c, v3, mail, syslog] = [this.#v2c, this.#v3, this.#mail, this.#syslog];
    await Promise.all([
      v2c?.stop(),
      v3?.stop(),
      syslog?.stop(),
      mail?.close(),
      new Promise((resolve) => {
        this.#web?.close(resolve);
        this.#web?.closeAllConnections();
      }),
    ]);
    this.#keep();
    this.#v2c = this.#v3 = this.#mail = this.#syslog = this.#web = undefined;
  }

  #running(): Record<Name, Received[]> {
    const letters = this.#mail?.letters ?? [];
    for (const letter of letters)
      if (!letter.secure || letter.user !== secrets.mail.user)
        this.wrong.push('mail: not encrypted, or without signing in');
    return {
      mail: letters.map(fromMail),
      v2c: (this.#v2c?.traps() ?? []).map(fromTrap),
      v3: (this.#v3?.traps() ?? []).map(fromTrap),
      syslog: (this.#syslog?.messages() ?? []).map(fromSyslog),
      webhook: [],
    };
  }

  #keep(): void {
    const running = this.#running();
    for (const name of names) this.#received[name].push(...running[name]);
  }

  /** Everything that each of them has ever heard, in order. */
  received(): Record<Name, Received[]> {
    const running = this.#running();
    return Object.fromEntries(names.map((name) => [name, [...this.#received[name], ...running[name]]])) as Record<
      Name,
      Received[]
    >;
  }

  /** The settings of the destinations, as the management API takes them. */
  destinations(): { name: Name; kind: string; enabled: boolean; [settings: string]: unknown }[] {
    const at = (name: Name) => ({ host: HOST, port: this.#ports[name] });
    // An authority of the receivers' own: no other certificate would be believed.
    const trust = { verifyCertificate: true, ca: this.#identity.ca };
    const addresses = { from: 'cistern@example.com', to: ['oncall@example.com'] };
    return [
      {
        ...{ name: 'mail', kind: 'email', enabled: true },
        email: { ...at('mail'), ...addresses, ...secrets.mail, security: 'starttls', ...trust },
      },
      {
        ...{ name: 'v2c', kind: 'snmp', enabled: true },
        snmp: { ...at('v2c'), version: '2c', inform: true, community: secrets.community },
      },
      {
        ...{ name: 'v3', kind: 'snmp', enabled: true },
        snmp: { ...at('v3'), ...secrets.v3, version: '3', inform: true, authProtocol: 'SHA-512', privProtocol: 'AES' },
      },
      {
        ...{ name: 'syslog', kind: 'syslog', enabled: true },
        syslog: { ...at('syslog'), transport: 'tls', ...trust },
      },
      {
        ...{ name: 'webhook', kind: 'webhook', enabled: true },
        webhook: {
          ...{ preset: 'json', ...trust, secret: secrets.webhook },
          url: `https://${HOST}:${this.#ports.webhook}/alerts`,
        },
      },
    ];
  }
}
