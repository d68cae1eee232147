// The SNMP agent that is polled. snmpd (net-snmp) speaks SNMP; what it says of CISTERN-MIB it asks of `cistern snmp-agent`,
// which reads a file that is written here every few seconds (its form: services/snmp). snmpd runs as its own user and can
// reach nothing of ours but that file. When akd is dead the file runs out, and nothing is answered.
//
// Who may poll is kept in the settings; execd writes snmpd's configuration of it (`snmp.configure`). As long as polling is off,
// snmpd listens nowhere and no file is written.

import { chmodSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import { dirname } from 'node:path';
import type { Audit } from '../../access/audit/index.ts';
import { type Clock, iso } from '../../base/clock.ts';
import type { Log } from '../../base/log.ts';
import { logFailure } from '../../base/problems/log-failure.ts';
import { fail } from '../../base/problems/problem.ts';
import { asked, onePart } from '../../domain/settings-part.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type { Platform, SnmpAccess } from '../../platform/platform.ts';
import { type Settings, setting } from '../../state/settings.ts';
import type { Table } from './objects.ts';
import type { routes } from './routes.ts';
import { type SnmpAgent, SnmpAgentInput } from './schema.ts';

export const WRITE_EVERY_MS = 5_000;
/** So long after it was written a file may be answered from: a few writings may come late. */
const VALID_MS = 30_000;
/** Datasets and alerts come and go: names that are gone are forgotten beyond so many. Their numbers are not used again. */
const MAX_NAMES = 20_000;

interface Kept extends SnmpAgentInput {
  /** Whether snmpd was given it. */
  readonly applied: boolean;
}
const NOBODY: Kept = {
  ...{ enabled: false, sources: [], user: '', authProtocol: 'SHA-256', contact: '', location: '', applied: true },
};

type Indexes = Partial<Record<Table, { next: number; of: Record<string, number> }>>;

const accessSetting = setting<Kept>('snmp.agent');
const numbersSetting = setting<Indexes>('snmp.indexes');
export const agentSettings = [accessSetting, numbersSetting];

/** Numbers that stay with names, over restarts too. */
export class RowNumbers {
  readonly #settings: Settings;
  readonly #indexes: Indexes;
  #changed = false;
  readonly #used = new Map<Table, Set<string>>();

  constructor(settings: Settings) {
    this.#settings = settings;
    this.#indexes = settings.get(numbersSetting) ?? {};
  }

  index(table: Table, name: string): number {
    this.#indexes[table] ??= { next: 1, of: {} };
    const known = this.#indexes[table];
    const used = this.#used.get(table);
    if (used === undefined) this.#used.set(table, new Set([name]));
    else used.add(name);
    const found = Object.hasOwn(known.of, name) ? known.of[name] : undefined;
    if (found !== undefined) return found;
    const number = known.next++;
    known.of[name] = number;
    this.#changed = true;
    return number;
  }

  /** Called after every row was asked for once, before any is handed on. */
  keep(): void {
    for (const [table, used] of this.#used) {
      const known = this.#indexes[table];
      if (known !== undefined && Object.keys(known.of).length > Math.max(MAX_NAMES, 2 * used.size)) {
        known.of = Object.fromEntries(Object.entries(known.of).filter(([name]) => used.has(name)));
        this.#changed = true;
      }
    }
    this.#used.clear();
    if (this.#changed) this.#settings.set(numbersSetting, this.#indexes);
    this.#changed = false;
  }
}

export interface AgentParts {
  readonly settings: Settings;
  readonly clock: Clock;
  readonly platform: Pick<Platform, 'configureSnmp'>;
  readonly engineId: string;
  /** Where `cistern snmp-agent` reads. */
  readonly file: string;
  readonly collect: (index: (table: Table, name: string) => number) => Promise<string[]>;
  readonly log: Log;
}

function problems(given: Kept): { path: string; message: string }[] {
  const errors: { path: string; message: string }[] = [];
  const secret = (path: string, value: string | undefined, shortest: number) => {
    if (value === undefined) errors.push({ path, message: 'is missing' });
    else if (value.length < shortest) errors.push({ path, message: `must have at least ${shortest} characters` });
    else if (!/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(value))
      errors.push({ path, message: 'may hold printable ASCII characters other than " and \\ only' });
  };
  given.sources.forEach((source, at) => {
    const [address = '', bits = ''] = source.split('/');
    if (!isIPv4(address) || !/^\d{1,2}$/.test(bits) || Number(bits) > 32)
      errors.push({ path: `/sources/${at}`, message: 'must be a network, as 192.0.2.0/24' });
  });
  for (const name of ['contact', 'location'] as const)
    if (/[#"\\]/.test(given[name])) errors.push({ path: `/${name}`, message: 'may not hold #, " or \\' });
  if (given.community !== undefined) secret('/community', given.community, 1);
  if (given.user !== '') {
    if (!/^[\x21\x24-\x5b\x5d-\x7e]+$/.test(given.user))
      errors.push({ path: '/user', message: 'may hold printable ASCII characters other than space, ", # and \\ only' });
    secret('/authPassword', given.authPassword, 8);
    secret('/privPassword', given.privPassword, 8);
  }
  if (given.enabled && given.community === undefined && given.user === '')
    errors.push({ path: '/community', message: 'is missing: give a community, a user, or both' });
  return errors;
}

/** A secret that was left out stays as it was; an empty one is removed. */
const kept = (given: string | undefined, stored: string | undefined) =>
  given === undefined ? stored : given === '' ? undefined : given;

export class Agent {
  readonly #parts: AgentParts;
  readonly #numbers: RowNumbers;
  #kept: Kept;
  #writtenAt: number | null = null;
  #writing: Promise<void> | null = null;

  constructor(parts: AgentParts) {
    this.#parts = parts;
    this.#numbers = new RowNumbers(parts.settings);
    this.#kept = parts.settings.get(accessSetting) ?? NOBODY;
  }

  get(): SnmpAgent {
    const { applied: _, community, authPassword, privPassword, ...shown } = this.#kept;
    return {
      ...shown,
      communitySet: community !== undefined,
      authPasswordSet: authPassword !== undefined,
      privPasswordSet: privPassword !== undefined,
      engineId: this.#parts.engineId,
      updatedAt: this.#writtenAt === null ? null : iso(this.#writtenAt),
    };
  }

  /** With the secrets, as they are kept. */
  settings(): SnmpAgentInput {
    const { applied: _, ...kept } = this.#kept;
    return kept;
  }

  #completed(input: SnmpAgentInput, stored: Kept): Kept {
    const { community, authPassword, privPassword, ...rest } = input;
    const secrets = {
      community: kept(community, stored.community),
      authPassword: rest.user === '' ? undefined : kept(authPassword, stored.authPassword),
      privPassword: rest.user === '' ? undefined : kept(privPassword, stored.privPassword),
    };
    const next: Kept = {
      ...rest,
      ...Object.fromEntries(Object.entries(secrets).filter(([, value]) => value !== undefined)),
      applied: false,
    };
    const errors = problems(next);
    if (errors.length === 0) return next;
    const words = errors.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw fail('invalid_request', `The settings of the SNMP agent were refused: ${words}.`, undefined, errors);
  }

  /** As it would be kept by itself; throws what contradicts itself. */
  completed(input: SnmpAgentInput): SnmpAgentInput {
    const { applied: _, ...completed } = this.#completed(input, NOBODY);
    return completed;
  }

  /** Decides who may poll from now on. Throws when it contradicts itself, and when snmpd could not be given it. */
  async set(input: SnmpAgentInput): Promise<SnmpAgent> {
    const stored = this.#kept;
    const next = this.#completed(input, stored);
    // Noted before: should akd end in between, snmpd is given it at the next start.
    this.#keep(next);
    try {
      await this.#apply();
    } catch (error) {
      this.#keep({ ...stored, applied: false });
      throw error;
    }
    await this.write();
    return this.get();
  }

  #keep(next: Kept): void {
    this.#parts.settings.set(accessSetting, next);
    this.#kept = next;
  }

  async #apply(): Promise<void> {
    const { enabled, community, sources, user, authProtocol, authPassword, privPassword, contact, location } =
      this.#kept;
    const access: SnmpAccess = {
      ...{ engineId: this.#parts.engineId, contact, location },
      ...(enabled && community !== undefined && { community, sources }),
      ...(enabled &&
        user !== '' && {
          user: { name: user, authProtocol, authPassword: authPassword ?? '', privPassword: privPassword ?? '' },
        }),
    };
    await this.#parts.platform.configureSnmp(access);
    this.#keep({ ...this.#kept, applied: true });
  }

  /** Called every WRITE_EVERY_MS. */
  write(): Promise<void> {
    this.#writing ??= this.#write()
      .catch((error: unknown) => {
        logFailure(this.#parts.log, 'what is answered to SNMP polls could not be written', error);
      })
      .finally(() => {
        this.#writing = null;
      });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const { clock, file, collect } = this.#parts;
    if (!this.#kept.applied) await this.#apply();
    if (!this.#kept.enabled) {
      rmSync(file, { force: true });
      this.#writtenAt = null;
      return;
    }
    const lines = await collect((table, name) => this.#numbers.index(table, name));
    this.#numbers.keep();
    const now = clock.now();
    const until = Math.ceil((now + VALID_MS) / 1000);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(`${file}.new`, `${[`cistern-objects 1 ${until}`, ...lines].join('\n')}\n`, { mode: 0o640 });
    // Whatever akd's umask is: snmpd reads it by its group, which is the folder's.
    chmodSync(`${file}.new`, 0o640);
    renameSync(`${file}.new`, file);
    this.#writtenAt = now;
  }

  /** What was answered is not vouched for any more. */
  async stop(): Promise<void> {
    await this.#writing;
    rmSync(this.#parts.file, { force: true });
  }
}

export function agentRoutes(parts: { agent: Agent; audit: Audit; changes: Changes }): Handlers<typeof routes> {
  const { agent, audit, changes } = parts;
  return {
    getSnmpAgent: () => agent.get(),
    setSnmpAgent: async ({ body, caller }) => {
      const before = agent.get();
      const after = await agent.set(body);
      audit.record(caller, 'snmp.configure', 'agent', before, after);
      changes.publish('status');
      return after;
    },
  };
}

export const snmpAgentPart = (agent: Agent, handlers: Handlers<typeof routes>) =>
  onePart({
    ...{ name: 'snmp-agent', title: 'Who may poll by SNMP', version: 1, schema: SnmpAgentInput },
    covers: ['setSnmpAgent'],
    secrets: ['/community', '/authPassword', '/privPassword'],
    normalise: (input) => agent.completed(input),
    read: () => agent.settings(),
    set: (body, caller) => asked(handlers.setSnmpAgent, { body, caller }),
  });
