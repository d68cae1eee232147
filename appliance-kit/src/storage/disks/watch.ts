// Disks that came, went, or say that they are not well.
import type { Conditions } from '../../alerting/alerts/index.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import { ChangeDetector, type Watch } from '../../poller/poller.ts';
import { diskWords, type Inventory } from '../inventory/index.ts';
import { diskAiling } from './alerts.ts';
import type { DiskHealths } from './health.ts';

export function diskWatch(parts: {
  inventory: Inventory;
  healths: DiskHealths;
  conditions: Conditions;
  changes: Changes;
}): Watch {
  const { inventory, healths, conditions } = parts;
  const detector = new ChangeDetector(parts.changes, 'disks');
  return {
    look: async () => {
      // Read anew, but with patience: a disk that hangs must not hide what it does to its pool.
      const { disks } = await inventory.look();
      return () => {
        if (disks.error !== null) return;
        detector.compare(disks.value);
        conditions.report(
          diskAiling,
          healths.complaints(disks.value).map(({ disk, reason }) => ({
            args: { device: disk.id, words: diskWords(disk, disk.id), complaint: reason },
          })),
        );
      };
    },
  };
}
