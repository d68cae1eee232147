// Sends an alert as an SNMP trap or inform with net-snmp's own programs. Secrets go by a private configuration file,
// never by the command line, where every user of the machine could read them.
import { execFile } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import process from 'node:process';
import { fail } from '../../../base/problems/problem.ts';
import { figure, oneLine } from '../../../base/words.ts';
import { type Message, pageOf } from '../../alerts/index.ts';
import type { OnLine } from '../exchange.ts';
import type { SnmpInput } from '../schema.ts';
import { notifications, objects, severities } from './oids.ts';

/** For each try of an inform; a trap is not waited for. */
const INFORM_TIMEOUT_S = 4;
const INFORM_RETRIES = 1;
const DEADLINE_MS = 20_000;
/** SnmpAdminString (RFC 3411) holds this many octets. */
const MAX_OCTETS = 255;

/** Our own typography, which many receivers would show as a row of hexadecimal numbers. */
const PLAIN: Record<string, string> = { '“': '"', '”': '"', '’': "'", '‘': "'", '…': '...', '–': '-', '—': '-' };

/** Cut to what fits, never within a character. Names in other scripts stay as they are: SnmpAdminString is UTF-8. */
function admin(text: string): string {
  let flat = oneLine(text, MAX_OCTETS).replace(/[“”’‘…–—]/g, (character) => PLAIN[character] as string);
  while (Buffer.byteLength(flat) > MAX_OCTETS) flat = [...flat].slice(0, -1).join('');
  return flat;
}

export function variables(message: Message): [string, 's' | 'i' | 'u', string][] {
  const { alert, event, at } = message;
  const number = (value: number | null) => (value === null ? '' : figure(value));
  const time = event === 'clear' ? (alert.clearedAt ?? at) : event === 'repost' ? at : alert.raisedAt;
  return [
    [objects.cisternAlertEventId, 's', admin(message.eventId)],
    [objects.cisternAlertClass, 's', admin(alert.class)],
    [objects.cisternAlertSeverity, 'i', String(severities[alert.severity])],
    [objects.cisternAlertTitle, 's', admin(alert.title)],
    [objects.cisternAlertText, 's', admin(alert.text)],
    [objects.cisternAlertValue, 's', number(alert.value)],
    [objects.cisternAlertLimit, 's', number(alert.limit)],
    [objects.cisternAlertHost, 's', admin(message.hostName)],
    [objects.cisternAlertTime, 's', time],
    [objects.cisternAlertCount, 'u', String(message.group?.count ?? 1)],
    [objects.cisternAlertShared, 's', admin(message.group?.shared ?? '')],
    [objects.cisternAlertPage, 's', admin(pageOf(message))],
  ];
}

/** snmp.conf(5). Values were checked to hold nothing that would end a quoted string. */
function configuration(snmp: SnmpInput): string {
  if (snmp.version === '2c') return `defVersion 2c\ndefCommunity "${snmp.community ?? ''}"\n`;
  return [
    'defVersion 3',
    'defSecurityLevel authPriv',
    `defSecurityName ${snmp.user ?? ''}`,
    `defAuthType ${snmp.authProtocol}`,
    `defPrivType ${snmp.privProtocol}`,
    `defAuthPassphrase "${snmp.authPassword ?? ''}"`,
    `defPrivPassphrase "${snmp.privPassword ?? ''}"`,
    '',
  ].join('\n');
}

export interface SnmpIdentity {
  /** Hexadecimal, without 0x: who the sender of a v3 trap is. */
  readonly engineId: string;
  /** Grows with every start of akd, as a receiver demands of an authoritative engine (RFC 3414, 2.2). */
  readonly engineBoots: number;
  /** Seconds since that start. */
  readonly engineSeconds: () => number;
}

/** For tests. */
export interface SnmpOptions {
  readonly command?: string;
  readonly informTimeoutS?: number;
}

export class SnmpSender {
  readonly #directory: string;
  readonly #identity: SnmpIdentity;
  readonly #command: string;
  readonly #informTimeoutS: number;

  /** @param directory private, for configuration files that live as long as one message */
  constructor(directory: string, identity: SnmpIdentity, options: SnmpOptions = {}) {
    this.#directory = directory;
    this.#identity = identity;
    this.#command = options.command ?? 'snmptrap';
    this.#informTimeoutS = options.informTimeoutS ?? INFORM_TIMEOUT_S;
  }

  /** @param address of the host, when it was looked up already */
  async send(snmp: SnmpInput, message: Message, onLine: OnLine, address = snmp.host): Promise<void> {
    mkdirSync(this.#directory, { recursive: true, mode: 0o700 });
    const home = mkdtempSync(join(this.#directory, 'message-'));
    try {
      chmodSync(home, 0o700);
      writeFileSync(join(home, 'snmp.conf'), configuration(snmp), { mode: 0o600 });
      const { engineId, engineBoots, engineSeconds } = this.#identity;
      const target = isIPv6(address.split('%')[0] as string)
        ? `udp6:[${address}]:${snmp.port}`
        : `udp:${address}:${snmp.port}`;
      const trap = message.event === 'clear' ? notifications.cisternAlertCleared : notifications.cisternAlertRaised;
      // A trap's sender is the authority on its own engine; for an inform that is the receiver, which is asked.
      const engine =
        snmp.version === '3' && !snmp.inform
          ? ['-e', `0x${engineId}`, '-Z', `${engineBoots},${Math.floor(engineSeconds())}`]
          : [];
      const args = [
        ...(snmp.inform ? ['-Ci', '-t', String(this.#informTimeoutS), '-r', String(INFORM_RETRIES)] : []),
        ...engine,
        target,
        '', // sysUpTime: net-snmp fills in the machine's own
        `.${trap}`,
        ...variables(message).flatMap(([oid, type, value]) => [`.${oid}`, type, value]),
      ];
      onLine('>', `SNMPv${snmp.version} ${snmp.inform ? 'inform' : 'trap'} ${trap} to ${snmp.host}:${snmp.port}`);
      for (const [oid, , value] of variables(message)) onLine('>', `${oid} = ${value}`);
      await this.#run(args, home);
      onLine(
        snmp.inform ? '<' : '!',
        snmp.inform
          ? 'The receiver has acknowledged it.'
          : 'Sent. A trap is not acknowledged: see at the receiver whether it came.',
      );
    } catch (error) {
      const words = (error as Error).message;
      throw fail(
        'command_failed',
        `The SNMP ${snmp.inform ? 'inform' : 'trap'} could not be sent to ${snmp.host}:${snmp.port}: ${words}`,
        snmp.inform
          ? 'Check that the receiver is running, and that community or user and passwords are the same on both sides.'
          : 'Check the host and the port.',
      );
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }

  #run(args: string[], home: string): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    execFile(
      this.#command,
      args,
      {
        timeout: DEADLINE_MS,
        killSignal: 'SIGKILL',
        maxBuffer: 64 * 1024,
        env: {
          PATH: process.env.PATH ?? '/usr/bin:/bin',
          SNMPCONFPATH: home,
          SNMP_PERSISTENT_DIR: home,
          // Numbers only: no MIB file is needed to send, and a broken one must not be in the way.
          MIBS: '',
          MIBDIRS: home,
        },
      },
      (error, _stdout, stderr) => {
        if (error === null) return resolve();
        if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
          return reject(new Error(`the program ${this.#command} is not installed`));
        }
        const said = stderr.trim().split('\n').at(-1) ?? '';
        reject(new Error(error.killed ? `it took longer than ${DEADLINE_MS / 1000} s` : said || error.message));
      },
    );
    return promise;
  }
}
