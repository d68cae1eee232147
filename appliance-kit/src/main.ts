// akd, the management plane of the appliance: wiring. What it does as every daemon does is in daemon/.
import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { createAppliance } from './appliance.ts';
import { systemClock } from './base/clock.ts';
import { type Config, configFlags, ownVersion, readConfig } from './base/config.ts';
import type { Log } from './base/log.ts';
import { runDaemon } from './daemon/daemon.ts';
import { createPlatform } from './platform/create.ts';

async function start(config: Config, socket: string, log: Log) {
  mkdirSync(config.state, { recursive: true, mode: 0o700 });
  const platform = await createPlatform(config, systemClock, log);
  const appliance = createAppliance({ config, clock: systemClock, platform, log });
  // No one may connect before the mode is right: the socket is made with it.
  const before = process.umask(0o117);
  await appliance.app.listen({ path: socket });
  process.umask(before);
  chmodSync(socket, 0o660);
  await appliance.start();
  return appliance;
}

const version = process.env.CISTERN_VERSION || ownVersion();

await runDaemon({
  name: 'akd',
  version,
  about: 'akd is the management plane of the appliance: its API, users, alerts and jobs.',
  flags: configFlags,
  socket: (values) => join(values.get('run') ?? '', 'akd', 'http.sock'),
  setup: ({ values, socket }, log) => start(readConfig(values, version), socket, log),
});
