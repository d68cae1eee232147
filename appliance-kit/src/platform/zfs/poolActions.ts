// Pools and disks of a real machine: everything here needs privilege, so execd does it.
import type { Execd } from '../execd.ts';
import type { PoolActions } from '../poolActions.ts';
import { parseDamagedFiles, parseHistory, parseImportable } from './poolText.ts';
import { readSmart } from './smart.ts';

export function zfsPoolActions(execd: Execd, systemPool: string): PoolActions {
  const run = async (...call: Parameters<Execd['run']>): Promise<void> => {
    await execd.run(...call);
  };
  const confirmed = (disk: string) => disk.slice(disk.lastIndexOf('/') + 1);
  return {
    scrub: (pool, action) => run('pool.scrub', { pool, action }),
    trim: (pool, action) => run('pool.trim', { pool, action }),
    clear: (pool, device) => run('pool.clear', { pool, device: device ?? '' }),
    setState: (pool, device, action) =>
      run('vdev.state', { pool, device, action, temporary: false, expand: action === 'online' }),
    attach: (pool, device, disk) =>
      // A disk of the system pool must be able to start the machine as well.
      pool === systemPool ? run('system.attach', { disk }) : run('vdev.attach', { pool, device, disk }),
    detach: (pool, device) =>
      pool === systemPool ? run('system.detach', { device }) : run('vdev.detach', { pool, device }),
    replace: (pool, device, disk) => run('vdev.replace', { pool, device, disk }),
    add: (pool, kind, vdevs) => run('vdev.add', { pool, kind, vdevs }),
    remove: (pool, vdev) => run('vdev.remove', { pool, vdev }),
    setProperty: (pool, property, value) => run('pool.set', { pool, property, value }),
    upgrade: (name) => run('pool.upgrade', { name }),
    exportPool: (name) => run('pool.export', { name }),
    destroyPool: (name) => run('pool.destroy', { name, confirm: name }),
    importable: async () => parseImportable(((await execd.run('pool.importable', {})) as { listing: string }).listing),
    importPool: async (guid, name, force) =>
      ((await execd.run('pool.import', { guid, name, force })) as { notMounted: string[] }).notMounted,
    history: async (pool, limit) =>
      parseHistory(((await execd.run('pool.history', { pool })) as { text: string }).text).slice(-limit),
    damagedFiles: async (pool) =>
      parseDamagedFiles(((await execd.run('pool.errors', { pool })) as { text: string }).text, pool),
    wipe: (disk) => run('disk.wipe', { disk, confirm: confirmed(disk) }),
    smart: async (disk) => readSmart(await execd.run('disk.smart', { disk })),
    selfTest: (disk, kind) => run('disk.selftest', { disk, kind }),
    locate: (disk, on) => run('disk.locate', { disk, on }),
  };
}
