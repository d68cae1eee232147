import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ProblemError } from '../../base/problems/problem.ts';
import { parseDamagedFiles } from './poolText.ts';

const status = (errors: string) => `  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME\n\n${errors}\n`;

test('damaged files are those that zpool names', () => {
  const named = status(
    'errors: Permanent errors have been detected in the following files:\n\n        /tank/a\n        tank/b:<0x1>\n',
  );
  assert.deepEqual(parseDamagedFiles(named, 'tank'), ['/tank/a', 'tank/b:<0x1>']);
  assert.deepEqual(parseDamagedFiles(status('errors: No known data errors'), 'tank'), []);
});

// print_error_log of usr/src/cmd/zpool/zpool_main.c (February 2025), on stdout, and it ends with 0; ZFS_IOC_ERROR_LOG asks
// for every privilege (zfs_secpolicy_inject of zfs_ioctl.c).
test('that ZFS does not name them is no empty list', () => {
  assert.throws(
    () => parseDamagedFiles(status('errors: List of errors unavailable (insufficient privileges)'), 'tank'),
    (error: ProblemError) =>
      error instanceof ProblemError &&
      /names of the damaged files on “tank” are not available: .*every privilege/.test(error.problem.detail) &&
      /as root.*zpool status -v tank/.test(error.problem.action ?? ''),
  );
});
