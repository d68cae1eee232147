// Where akd finds things, from its flags, which stand in the environment too. Every path can be moved, so that it runs unprivileged in a folder.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Config {
  readonly platform: 'sim' | 'linux' | 'illumos';
  /** The folder of all sockets. */
  readonly run: string;
  readonly state: string;
  readonly setupCodeFile: string;
  /** The key by which the web server knows sessions. */
  readonly placesFile: string;
  /** The `cistern` command. */
  readonly cistern: string;
  readonly version: string;
  readonly secureCookies: boolean;
  /** The longest between two evaluations of all rules; when they are few it is a fifth. */
  readonly evaluateMs: number;
  readonly pollMs: number;
  /** Where the web server of this machine listens. */
  readonly httpsPort: number;
}

function seconds(value: string): void {
  const number = Number(value);
  if (!(number >= 0.1 && number <= 3600)) throw new Error('must be a number of seconds from 0.1 to 3600');
}

function port(value: string): void {
  const number = Number(value);
  if (!Number.isInteger(number) || number < 1 || number > 65535) throw new Error('must be a port');
}

const platforms = ['linux', 'illumos', 'sim'] as const;

function platform(value: string): void {
  if (!(platforms as readonly string[]).includes(value)) throw new Error('must be linux, illumos or sim');
}

/** akd's own flags, beside those of every daemon. */
export const configFlags = {
  platform: {
    argument: 'NAME',
    help: 'linux, illumos or sim: what it drives',
    usual: 'linux',
    variable: 'CISTERN_PLATFORM',
    check: platform,
  },
  run: { argument: 'FOLDER', help: 'the sockets of all daemons', usual: '/run/cistern', variable: 'CISTERN_RUN' },
  state: {
    argument: 'FOLDER',
    help: 'its database and its journal',
    usual: '/var/lib/cistern/akd',
    variable: 'CISTERN_STATE',
  },
  'setup-code-file': {
    argument: 'FILE',
    help: 'the code that the console shows',
    usual: '/var/lib/cistern/setup/code',
    variable: 'CISTERN_SETUP_CODE_FILE',
  },
  'places-file': {
    argument: 'FILE',
    help: 'the key by which the web server knows who has signed in',
    usual: '/var/lib/cistern/identity/places.conf',
    variable: 'CISTERN_PLACES_FILE',
  },
  cistern: {
    argument: 'PATH',
    help: 'the command cistern, or the folder that it is in',
    usual: 'cistern',
    variable: 'CISTERN_BIN',
  },
  'evaluate-seconds': {
    argument: 'N',
    help: 'the longest between two evaluations of all rules',
    usual: '5',
    variable: 'CISTERN_EVALUATE_SECONDS',
    check: seconds,
  },
  'poll-seconds': {
    argument: 'N',
    help: 'how often pools, disks and services are read',
    usual: '10',
    variable: 'CISTERN_POLL_SECONDS',
    check: seconds,
  },
  'https-port': {
    argument: 'PORT',
    help: 'where the web server of this machine listens',
    usual: '443',
    variable: 'CISTERN_HTTPS_PORT',
    check: port,
  },
  'insecure-cookies': {
    argument: '0|1',
    help: '1: cookies over plain HTTP, for development',
    usual: '0',
    variable: 'CISTERN_INSECURE_COOKIES',
  },
} as const;

/** --cistern is the command itself, or the folder it is in. */
function command(path: string): string {
  try {
    return statSync(path).isDirectory() ? join(path, 'cistern') : path;
  } catch {
    return path;
  }
}

/** Put in by the bundler; there is none when the sources are run. */
declare const __CISTERN_VERSION__: string | undefined;

export function ownVersion(): string {
  if (typeof __CISTERN_VERSION__ === 'string') return __CISTERN_VERSION__;
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

/** From the values of configFlags, each of which was checked. */
export function readConfig(values: ReadonlyMap<string, string>, version: string): Config {
  const value = (flag: keyof typeof configFlags) => values.get(flag) ?? '';
  return {
    platform: value('platform') as Config['platform'],
    run: value('run'),
    state: value('state'),
    setupCodeFile: value('setup-code-file'),
    placesFile: value('places-file'),
    cistern: command(value('cistern')),
    version,
    secureCookies: value('insecure-cookies') !== '1',
    evaluateMs: Number(value('evaluate-seconds')) * 1000,
    pollMs: Number(value('poll-seconds')) * 1000,
    httpsPort: Number(value('https-port')),
  };
}
