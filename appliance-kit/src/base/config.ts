// Where akd finds things, from its environment. Every path can be moved, so that it runs unprivileged in a folder.
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

export interface Config {
  readonly platform: 'sim' | 'linux' | 'illumos';
  /** The folder of all sockets. */
  readonly run: string;
  readonly state: string;
  readonly setupCodeFile: string;
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

type Environment = Readonly<Record<string, string | undefined>>;

function seconds(env: Environment, name: string, usual: number): number {
  const text = env[name];
  if (text === undefined || text === '') return usual * 1000;
  const value = Number(text);
  if (!(value >= 0.1 && value <= 3600)) throw new Error(`${name}=${text} must be a number of seconds from 0.1 to 3600`);
  return value * 1000;
}

function port(env: Environment, name: string, usual: number): number {
  const text = env[name];
  if (text === undefined || text === '') return usual;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 65535) throw new Error(`${name}=${text} must be a port`);
  return value;
}

/** CISTERN_BIN is the command itself, or the folder it is in. */
function command(path: string): string {
  try {
    return statSync(path).isDirectory() ? join(path, 'cistern') : path;
  } catch {
    return path;
  }
}

/** Put in by the bundler; there is none when the sources are run. */
declare const __CISTERN_VERSION__: string | undefined;

function ownVersion(): string {
  if (typeof __CISTERN_VERSION__ === 'string') return __CISTERN_VERSION__;
  return JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')).version;
}

export function readConfig(env: Environment): Config {
  const platform = env.CISTERN_PLATFORM ?? 'linux';
  if (platform !== 'sim' && platform !== 'linux' && platform !== 'illumos') {
    throw new Error(`CISTERN_PLATFORM=${platform} must be linux, illumos or sim`);
  }
  return {
    platform,
    run: env.CISTERN_RUN || '/run/cistern',
    state: env.CISTERN_STATE || '/var/lib/cistern/akd',
    setupCodeFile: env.CISTERN_SETUP_CODE_FILE || '/var/lib/cistern/setup/code',
    cistern: command(env.CISTERN_BIN || 'cistern'),
    version: env.CISTERN_VERSION || ownVersion(),
    secureCookies: env.CISTERN_INSECURE_COOKIES !== '1',
    evaluateMs: seconds(env, 'CISTERN_EVALUATE_SECONDS', 5),
    pollMs: seconds(env, 'CISTERN_POLL_SECONDS', 10),
    httpsPort: port(env, 'CISTERN_HTTPS_PORT', 443),
  };
}
