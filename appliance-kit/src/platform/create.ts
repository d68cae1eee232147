// Chooses the driver. Its code is loaded only when it is the one.
import { dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Log } from '../base/log.ts';
import type { Platform } from './platform.ts';

export async function createPlatform(config: Config, clock: Clock, log: Log): Promise<Platform> {
  if (config.platform === 'sim') {
    const { Simulation } = await import('./sim/simulation.ts');
    log.warn('the platform is simulated: no disk, pool or service of this machine is touched');
    const beside = dirname(config.state);
    return new Simulation({
      ...{ clock, file: join(config.state, 'simulation.json') },
      certificates: {
        program: () => (config.cistern.includes('/') ? join(dirname(config.cistern), 'execd') : 'execd'),
        ...{ folder: join(beside, 'tls'), nginxPid: join(beside, 'nginx', 'nginx.pid'), httpsPort: config.httpsPort },
      },
    });
  }
  if (config.platform === 'illumos') {
    const { Illumos } = await import('./illumos/illumos.ts');
    return new Illumos({ run: config.run });
  }
  const { Linux } = await import('./linux/linux.ts');
  return new Linux({ run: config.run, clock });
}
