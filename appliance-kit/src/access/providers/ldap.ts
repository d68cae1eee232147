// Asking a directory (LDAP, RFC 4511; Active Directory): who somebody is, whether the password is right, in which groups.
//
// Never without TLS: a password would be readable on the way. ldapts connects anew by itself when a connection was lost, which
// after StartTLS would be one in clear: each client here has one connection, and no second.
import net, { isIP } from 'node:net';
import tls from 'node:tls';
import type { Client, Entry } from 'ldapts';
import type { Reach } from '../../alerting/destinations/index.ts';
import { fail, ProblemError } from '../../base/problems/problem.ts';
import type { LdapInput } from './schema.ts';

export const DEADLINE_MS = 10_000;
/** Of groups within groups. */
const MOST_GROUPS = 500;
const MOST_DEPTH = 8;
/** RFC 4511: sizeLimitExceeded. */
const SIZE_LIMIT = 4;
/** Microsoft's rule LDAP_MATCHING_RULE_IN_CHAIN: [MS-ADTS] 3.1.1.3.4.4.3. */
const IN_CHAIN = '1.2.840.113556.1.4.1941';

export interface Found {
  /** What stays the same of the user. */
  readonly subject: string;
  readonly name: string;
  readonly groups: readonly string[];
}

/** Tells each step of the exchange; nothing secret is in it. */
export type Tell = (what: string, ok: boolean, found: string, action?: string) => void;

/** What was typed, for a filter (RFC 4515, 3). */
export const escaped = (text: string) =>
  text.replace(/[\\*()\0]/g, (one) => `\\${one.charCodeAt(0).toString(16).padStart(2, '0')}`);

const texts = (value: Entry[string] | undefined): string[] =>
  (Array.isArray(value) ? value : value === undefined ? [] : [value]).map((one) => one.toString('utf8'));

/** Of a subject, which may be bytes: objectGUID. */
function idOf(value: Entry[string] | undefined): string {
  const one = Array.isArray(value) ? value[0] : value;
  if (one === undefined) return '';
  if (typeof one === 'string') return one;
  const text = one.toString('utf8');
  return /^[\x21-\x7e]+$/.test(text) ? text : one.toString('hex');
}

/** Why a host does not answer as it should, in words that say what to do. */
function connectionProblem(error: unknown): [string, string] {
  const { code, message } = error as NodeJS.ErrnoException;
  if (error instanceof ProblemError) return [error.problem.detail ?? message, error.problem.action ?? ''];
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return ['Its name is not known.', 'Check the name, and the DNS server.'];
  if (code === 'ECONNREFUSED') return ['Nothing listens there.', 'Check host and port.'];
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return [`Its certificate is for another name: ${message}.`, 'Give the name that stands in the certificate.'];
  if (/CERT|SELF_SIGNED|UNABLE_TO_VERIFY|unable to (get|verify)/i.test(`${code} ${message}`))
    return [
      `Its certificate is not believed: ${message}.`,
      'Give the certificate of the authority that has signed it.',
    ];
  if (/tim(ed|e) ?out/i.test(message))
    return ['It does not answer in time.', 'Check the address, and firewalls on the way.'];
  return [`${message}.`, 'Check host and port, and whether the server offers TLS there.'];
}

export class Directory {
  readonly #settings: LdapInput;
  readonly #reach: Reach;
  readonly #tell: Tell;
  readonly #until: number;

  constructor(settings: LdapInput, reach: Reach, tell: Tell = () => {}, deadlineMs = DEADLINE_MS) {
    this.#settings = settings;
    this.#reach = reach;
    this.#tell = tell;
    this.#until = performance.now() + deadlineMs;
  }

  #left(): number {
    return Math.max(1, this.#until - performance.now());
  }

  async #connect(text: string): Promise<Client> {
    const { Client } = await import('ldapts');
    const url = new URL(text);
    const host = url.hostname.replace(/^\[|\]$/g, '');
    await this.#reach.address(host);
    const { ca } = this.#settings;
    const names = { host, ...(isIP(host) === 0 && { servername: host }), ...(ca !== undefined && { ca }) };
    let connections = 0;
    const once = <T>(connect: () => T): T => {
      if (++connections > 1) throw new Error('the connection was lost');
      return connect();
    };
    const client = new Client({
      url: url.href.replace(/\/$/, ''),
      ...{ timeout: this.#left(), connectTimeout: this.#left() },
      // With these an ldap: address would be asked for TLS at once.
      ...(url.protocol === 'ldaps:' && { tlsOptions: names }),
      createConnection: ((...args: Parameters<typeof net.connect>) =>
        once(() => net.connect(...args))) as typeof net.connect,
      createSecureConnection: ((...args: unknown[]) => {
        const upgrade = typeof args[0] === 'object';
        const connect = () => (tls.connect as (...all: unknown[]) => tls.TLSSocket)(...args);
        return upgrade ? connect() : once(connect);
      }) as typeof tls.connect,
    });
    if (url.protocol === 'ldap:') await client.startTLS(names);
    return client;
  }

  /** With a connection to the first that answers. */
  async with<T>(use: (client: Client) => Promise<T>): Promise<T> {
    const failures: string[] = [];
    for (const url of this.#settings.urls) {
      const what = `Connect to ${url}${url.startsWith('ldap:') ? ', and StartTLS' : ''}`;
      let client: Client;
      try {
        client = await this.#connect(url);
        // An ldaps: connection is made with the first request.
        await this.#bindAs(client, what);
      } catch (error) {
        if (error instanceof Refused) throw error.problem;
        const [found, action] = connectionProblem(error);
        this.#tell(what, false, found, action);
        failures.push(`${url}: ${found}`);
        continue;
      }
      try {
        return await use(client);
      } finally {
        await client.unbind().catch(() => {});
      }
    }
    throw fail('service_unavailable', `The directory cannot be reached. ${failures.join(' ')}`, 'Local accounts work.');
  }

  /** As who searches. */
  async #bindAs(client: Client, connected: string): Promise<void> {
    const { bindDn, bindPassword } = this.#settings;
    const what = bindDn === '' ? 'Sign in anonymously' : `Sign in as ${bindDn}`;
    try {
      await client.bind(bindDn, bindDn === '' ? '' : (bindPassword ?? ''));
    } catch (error) {
      if (!isAnswer(error)) throw error;
      this.#tell(connected, true, 'It answers, and its certificate is believed.');
      const found = `It was refused: ${said(error)}.`;
      const action = 'Check the distinguished name and the password of who searches.';
      this.#tell(what, false, found, action);
      throw new Refused(fail('service_unavailable', `The directory refuses who searches: ${said(error)}.`, action));
    }
    this.#tell(connected, true, 'It answers, and its certificate is believed.');
    this.#tell(what, true, 'It was accepted.');
  }

  /** Null: nobody is found, or several are. */
  async #find(client: Client, name: string): Promise<Entry | null> {
    const { baseDn, userFilter, nameAttribute, subjectAttribute } = this.#settings;
    const filter = userFilter.replaceAll('{name}', escaped(name));
    const what = `Search for ${filter} below ${baseDn}`;
    const attributes = [nameAttribute, subjectAttribute, 'memberOf'];
    try {
      const options = { scope: 'sub', filter, attributes, sizeLimit: 2, timeLimit: 10 } as const;
      const { searchEntries } = await client.search(baseDn, {
        ...options,
        explicitBufferAttributes: [subjectAttribute],
      });
      const [entry] = searchEntries;
      if (searchEntries.length === 1 && entry !== undefined) {
        this.#tell(what, true, `Found ${entry.dn}.`);
        return entry;
      }
      this.#tell(
        what,
        false,
        searchEntries.length === 0 ? 'Nobody is found.' : 'More than one is found.',
        'Check the base and the filter.',
      );
      return null;
    } catch (error) {
      if (!isAnswer(error)) throw error;
      if ((error as { code?: number }).code === SIZE_LIMIT) {
        this.#tell(what, false, 'More than one is found.', 'Make the filter narrower.');
        return null;
      }
      this.#tell(what, false, `It was refused: ${said(error)}.`, 'Check the base and the filter.');
      throw fail(
        'service_unavailable',
        `The directory refuses the search: ${said(error)}.`,
        'Ask an administrator to test the directory.',
      );
    }
  }

  async #groups(client: Client, entry: Entry, name: string): Promise<string[]> {
    const { groupBaseDn, nested } = this.#settings;
    const found = new Set(texts(entry.memberOf));
    const ask = async (filter: string) => {
      const options = { scope: 'sub' as const, filter, attributes: ['cn'], sizeLimit: MOST_GROUPS, timeLimit: 10 };
      const { searchEntries } = await client.search(groupBaseDn, options);
      return searchEntries.map(({ dn }) => dn);
    };
    if (groupBaseDn !== '') {
      const of = (dn: string, more = '') => `(|(member=${escaped(dn)})(uniqueMember=${escaped(dn)})${more})`;
      if (nested === 'active-directory') {
        for (const dn of await ask(`(member:${IN_CHAIN}:=${escaped(entry.dn)})`)) found.add(dn);
      } else {
        let next = [...found];
        for (const dn of await ask(of(entry.dn, `(memberUid=${escaped(name)})`))) if (!found.has(dn)) next.push(dn);
        for (let depth = 0; next.length > 0; depth++) {
          for (const dn of next) found.add(dn);
          if (nested === 'no' || depth === MOST_DEPTH || found.size > MOST_GROUPS) break;
          const above: string[] = [];
          for (const dn of next) above.push(...(await ask(of(dn))));
          next = [...new Set(above)].filter((dn) => !found.has(dn));
        }
      }
    }
    this.#tell('Ask for the groups', true, found.size === 0 ? 'There are none.' : [...found].join('; '));
    return [...found];
  }

  /** Whether the password is the user's: by a connection of its own, which is then theirs. */
  async #passwordFits(dn: string, password: string): Promise<boolean> {
    const what = `Sign in as ${dn}`;
    // A directory takes a name without a password for an anonymous sign-in, and says yes (RFC 4513, 5.1.2).
    if (password === '') return false;
    for (const url of this.#settings.urls) {
      let client: Client | undefined;
      try {
        client = await this.#connect(url);
        await client.bind(dn, password);
        this.#tell(what, true, 'The password is right.');
        return true;
      } catch (error) {
        if (!isAnswer(error)) continue;
        this.#tell(what, false, `It was refused: ${said(error)}.`, 'Check the password.');
        return false;
      } finally {
        await client?.unbind().catch(() => {});
      }
    }
    throw fail('service_unavailable', 'The directory cannot be reached any more.', 'Try again.');
  }

  /** Who it is, when the password is right. `password` undefined: it is not asked, for a test. Null: wrong name or password. */
  async signIn(name: string, password: string | undefined): Promise<Found | null> {
    const { nameAttribute, subjectAttribute } = this.#settings;
    return this.with(async (client) => {
      const entry = await this.#find(client, name);
      if (entry === null) return null;
      if (password !== undefined && !(await this.#passwordFits(entry.dn, password))) return null;
      const called = texts(entry[nameAttribute])[0] ?? '';
      const subject = idOf(entry[subjectAttribute]);
      const missing = called === '' ? nameAttribute : subject === '' ? subjectAttribute : null;
      if (missing !== null) {
        this.#tell('Read the user', false, `The entry has no ${missing}.`, 'Name another attribute.');
        throw fail(
          'service_unavailable',
          `The entry of the user has no ${missing}.`,
          'Ask an administrator to test the directory.',
        );
      }
      this.#tell('Read the user', true, `${nameAttribute} is ${called}, ${subjectAttribute} is ${subject}.`);
      return { subject, name: called, groups: await this.#groups(client, entry, called) };
    });
  }
}

/** Who searches was refused: no other address would say something else. */
class Refused extends Error {
  readonly problem: Error;
  constructor(problem: Error) {
    super(problem.message);
    this.problem = problem;
  }
}

/** The server has answered with a result (RFC 4511, 4.1.9), unlike a connection that failed. */
const isAnswer = (error: unknown): boolean =>
  error instanceof Error && typeof (error as { code?: unknown }).code === 'number';

/** Results that people meet (RFC 4511, appendix A); others by their number. */
const RESULTS: Readonly<Record<number, string>> = {
  3: 'the time limit was exceeded',
  4: 'the size limit was exceeded',
  8: 'it wants a stronger way to sign in',
  13: 'it wants TLS',
  32: 'there is no such entry',
  34: 'the distinguished name is not valid',
  48: 'it takes no anonymous sign-in',
  49: 'the name or the password is wrong (invalid credentials)',
  50: 'the access rights are not enough',
  51: 'the server is busy',
  52: 'the server is not available',
  53: 'the server is not willing to do it',
};

function said(error: unknown): string {
  const { code, message } = error as Error & { code: number };
  const text = message
    .replace(/\s*Code: 0x[0-9a-f]+/i, '')
    .replace(/\s+/g, ' ')
    .replace(/\.$/, '')
    .trim();
  return [RESULTS[code] ?? `result ${code}`, text].filter((part) => part !== '').join(': ');
}
