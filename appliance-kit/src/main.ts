// akd, the management plane of the appliance: starts, listens on its Unix socket, and ends in order.
import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import http from 'node:http';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { createAppliance } from './appliance.ts';
import { systemClock } from './base/clock.ts';
import { readConfig } from './base/config.ts';
import { standardLog as log } from './base/log.ts';
import { createPlatform } from './platform/create.ts';

/** The service manager's patience is longer than this; what is not done by then is taken up at the next start. */
const STOP_MS = 8_000;

/** True when another akd answers on the socket: two of them would deliver every alert twice. */
function answered(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const request = http.get({ socketPath: socket, path: '/api/setup', timeout: 2_000 }, (response) => {
      response.resume();
      resolve(true);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
  });
}

async function main(): Promise<void> {
  const config = readConfig(process.env);
  const socket = join(config.run, 'akd', 'http.sock');
  mkdirSync(config.state, { recursive: true, mode: 0o700 });
  mkdirSync(dirname(socket), { recursive: true });
  if (await answered(socket)) throw new Error(`another akd listens on ${socket}`);
  rmSync(socket, { force: true });

  const platform = await createPlatform(config, systemClock, log);
  const appliance = createAppliance({ config, clock: systemClock, platform, log });

  // No one may connect before the mode is right: the socket is made with it.
  const before = process.umask(0o117);
  await appliance.app.listen({ path: socket });
  process.umask(before);
  chmodSync(socket, 0o660);
  await appliance.start();
  log.info('akd is ready', { version: config.version, platform: config.platform, socket });

  let stopping = false;
  const stop = (signal: string) => {
    if (stopping) return;
    stopping = true;
    log.info('akd is stopping', { signal });
    setTimeout(() => {
      log.warn('akd did not stop in time; ending now');
      process.exit(1);
    }, STOP_MS).unref();
    appliance.stop().then(
      () => process.exit(0),
      (error: unknown) => {
        log.error('akd could not stop in order', { error: String(error) });
        process.exit(1);
      },
    );
  };
  process.on('SIGTERM', () => stop('SIGTERM'));
  process.on('SIGINT', () => stop('SIGINT'));
}

// An uncaught error leaves the state unknown: the service manager starts a new process.
process.on('uncaughtException', (error) => {
  log.error('akd ends because of an unhandled error', { error: error.stack ?? error.message });
  process.exit(1);
});

main().catch((error: unknown) => {
  log.error('akd cannot start', { error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  process.exit(1);
});
