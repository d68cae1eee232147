// What the operating system has diagnosed of the machine's parts.
import type { AlertsDomain } from '../../alerting/alerts/index.ts';
import { domain, type Kernel } from '../../domain/domain.ts';
import { alertClasses } from './alerts.ts';
import { Faults } from './faults.ts';

export const faultsDomain = domain({
  name: 'system/faults',
  alertClasses,
  create: ({ platform, clock, conditions }: Kernel & AlertsDomain) => ({
    watch: [new Faults(platform, clock, conditions)],
  }),
});
