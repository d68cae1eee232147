import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asOnIllumos } from '../../../tests/fixtures/illumos.ts';
import type { Execd } from '../execd.ts';
import { illumosHardware } from './hardware.ts';

/** As the manual pages have them: dladm(8) with -p, kstat(8) with -p, and the names of link's statistics in mac_stat.c. */
const PRINTED: Readonly<Record<string, string>> = {
  'dladm show-phys -p -o link,device': 'net0:ixgbe0\nnet1:ixgbe1\n',
  'dladm show-phys -m -p -o link,slot,address':
    'net0:primary:2\\:0\\:5e\\:10\\:0\\:1\nnet0:1:2\\:0\\:5e\\:10\\:0\\:9\nnet1:primary:2\\:0\\:5e\\:10\\:0\\:2\n',
  'kstat -p -m link':
    'link:0:net0:ierrors\t3\nlink:0:net0:ipackets64\t100\nlink:0:net0:oerrors\t1\nlink:0:net0:opackets64\t50\nlink:0:net0:class\tnet\n',
};

test('network ports of illumos, with their driver, address and counters', async () => {
  const hardware = illumosHardware(
    asOnIllumos(
      async (program, args) => PRINTED[[program, ...args].join(' ')] ?? assert.fail(`${program} ${args.join(' ')}`),
    ),
    { run: async () => assert.fail('nothing of it needs privilege') } as unknown as Execd,
  );
  assert.deepEqual(await hardware.ports(), [
    {
      ...{ name: 'net0', place: null, driver: 'ixgbe', firmware: null, mac: '02:00:5e:10:00:01' },
      ...{ packets: 150, errors: 4 },
    },
    {
      ...{ name: 'net1', place: null, driver: 'ixgbe', firmware: null, mac: '02:00:5e:10:00:02' },
      ...{ packets: 0, errors: 0 },
    },
  ]);
});

test('what execd says of the firmware and the controller is read as on Debian', async () => {
  const asked: unknown[] = [];
  const execd = {
    run: async (verb: string, args: unknown) => {
      asked.push([verb, args]);
      if (verb === 'hardware.inventory') {
        return { text: '1     27   SMB_TYPE_SYSTEM (type 1) (system information)\n\n  Product: SYS-5019\n', cards: '' };
      }
      return { present: false, text: '' };
    },
  } as unknown as Execd;
  const hardware = illumosHardware(async () => '', execd);
  assert.equal((await hardware.inventory()).product, 'SYS-5019');
  assert.equal(await hardware.controller(), null);
  assert.deepEqual(asked, [
    ['hardware.inventory', {}],
    ['controller.read', { what: 'about' }],
  ]);
});
