// What fmadm faulty prints, as its source has it: several troubles, several events of one, odd texts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseFaults } from './faults.ts';

const RULE = '--------------- ------------------------------------  -------------- ---------';
const HEADING = `${RULE}\nTIME            EVENT-ID                              MSG-ID         SEVERITY\n${RULE}`;
const HOST = 'Host        : tank\nPlatform    : X10-SRi\tChassis_id  : 0123456789\nProduct_sn  : \n';

const printed = `${HEADING}
Nov 21 10:22:20 3a4d3c3e-7a11-4c55-8a08-b6f34d53f1c2  DISK-8000-0X   Major    

${HOST}
Fault class : fault.io.disk.predictive-failure
Affects     : dev:///:devid=id1,sd@n5000cca05c68d505//scsi_vhci/disk@g5000cca05c68d505
                  faulted but still in service
FRU         : "Slot 05" (hc://:product-id=X:server-id=tank:chassis-id=50015b2:serial=V1G2ABCD/ses-enclosure=0/bay=5/disk=0)
                  faulty

Description : SMART health-monitoring firmware reported that a disk
              failure is imminent.  Refer to
              http://illumos.org/msg/DISK-8000-0X for more information.

Response    : None.

Impact      : It is likely that the continued operation of
              this disk will result in data loss.

Action      : Schedule a repair procedure to replace the affected disk.
              Use 'fmadm faulty' to identify the disk.

${HEADING}
Nov 20 09:00:00 11111111-2222-4333-8444-555555555555  ZFS-8000-FD    Minor    
Nov 20 09:00:01 11111111-2222-4333-8444-666666666666

${HOST}
Fault class : fault.fs.zfs.vdev.io 66%
              fault.fs.zfs.vdev.checksum 33%
Affects     : zfs://pool=tank/vdev=1234
                  faulted and taken out of service
Problem in  : zfs://pool=tank/vdev=1234
                  faulted and taken out of service

Description : The number of I/O errors associated with a ZFS device exceeded
              acceptable levels.
${HEADING}
Nov 19 01:02:03 99999999-aaaa-4bbb-8ccc-dddddddddddd  SMF-8000-YX    Major

Host        : tank
Fault class : defect.sunos.smf.svc.maintenance
Affects     : svc:///application/cistern/akd:default
                  faulted and taken out of service
`;

// faulty.c: print_asru_status, print_name, and the fifth word of the line that begins a record.
test('injected faults, shares of parts, and a status that begins with another word', () => {
  const [fault, ...others] = parseFaults(`${HEADING}
Nov 18 01:02:03     aaaaaaaa-aaaa-4bbb-8ccc-dddddddddddd  INTEL-8001-43  Critical  injected

${HOST}
Fault class : fault.memory.page 95%
Affects     : mem:///unum=0
                  service degraded, but associated components no longer faulty
FRU         : hc:///motherboard=0/dimm=1 95%
                  faulty
              hc:///motherboard=0/dimm=2 max 67%
                  repair attempted
              hc:///motherboard=0/dimm=3 2 @ max 67%
                  faulty

`);
  assert.deepEqual([fault?.id.slice(0, 8), fault?.severity, others], ['aaaaaaaa', 'Critical', []]);
  assert.deepEqual(fault?.affects, ['mem:///unum=0']);
  assert.deepEqual(
    fault?.parts,
    [1, 2, 3].map((dimm) => `hc:///motherboard=0/dimm=${dimm}`),
  );
});

test('faults, as ugly as they come', () => {
  const faults = parseFaults(printed);
  assert.deepEqual(
    faults.map(({ id, code, severity }) => [id.slice(0, 8), code, severity]),
    [
      ['3a4d3c3e', 'DISK-8000-0X', 'Major'],
      ['11111111', 'ZFS-8000-FD', 'Minor'],
      ['99999999', 'SMF-8000-YX', 'Major'],
    ],
  );
  const [disk, pool, service] = faults;
  assert.deepEqual(disk?.parts, ['Slot 05']);
  assert.deepEqual(disk?.classes, ['fault.io.disk.predictive-failure']);
  assert.equal(disk?.affects.length, 1);
  assert.equal(
    disk?.description,
    'SMART health-monitoring firmware reported that a disk failure is imminent.  Refer to http://illumos.org/msg/DISK-8000-0X for more information.',
  );
  assert.match(disk?.action ?? '', /^Schedule a repair .* identify the disk\.$/);
  assert.deepEqual(pool?.classes, ['fault.fs.zfs.vdev.io', 'fault.fs.zfs.vdev.checksum']);
  assert.deepEqual([pool?.affects, pool?.parts, pool?.action], [['zfs://pool=tank/vdev=1234'], [], '']);
  assert.deepEqual(service?.affects, ['svc:///application/cistern/akd:default']);
  assert.deepEqual(parseFaults(''), []);
  assert.deepEqual(parseFaults(' \n'), []);
  // Text without any record is not a machine without faults.
  assert.throws(() => parseFaults('fmadm: failed to connect to fmd\n'), { name: 'ProblemError' });
  assert.throws(() => parseFaults(`${HEADING}\n`), { name: 'ProblemError' });
});
