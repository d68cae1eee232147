// The installed systems of Debian, OmniOS and the simulation are described in the same terms. What execd answers on the first two
// is held by its own tests against the files that are read here in its place.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { parseSystems } from './execd-systems.ts';
import { Illumos } from './illumos/illumos.ts';
import { Linux } from './linux/linux.ts';
import { Simulation } from './sim/simulation.ts';
import type { PlatformSystem, SystemsPlatform } from './systems.ts';

type Answer = { systems: PlatformSystem[] };

/** An execd that answers what was recorded, and can be set to start another system. */
async function runFolder(t: TestContext, recorded: string): Promise<string> {
  const answer = JSON.parse(
    readFileSync(new URL(`../../../services/execd/testdata/${recorded}`, import.meta.url), 'utf8'),
  ) as Answer;
  const folder = mkdtempSync(join(tmpdir(), 'systems-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const socket = join(folder, 'execd', 'http.sock');
  mkdirSync(dirname(socket));
  const server = http.createServer(async (request, response) => {
    const body: Buffer[] = [];
    for await (const part of request) body.push(part as Buffer);
    const { name } = JSON.parse(Buffer.concat(body).toString()) as { name?: string };
    if (request.url === '/v1/system.activate') {
      answer.systems = answer.systems.map((one) => ({ ...one, starts: one.name === name ? 'next' : 'no' }));
    } else assert.equal(request.url, '/v1/system.list');
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(answer));
  });
  server.listen(socket);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return folder;
}

const drivers: Record<string, (t: TestContext) => Promise<SystemsPlatform>> = {
  linux: async (t) => new Linux({ run: await runFolder(t, 'systems-linux.json'), clock: systemClock }).systems,
  illumos: async (t) => new Illumos({ run: await runFolder(t, 'systems-illumos.json') }).systems,
  sim: async () => {
    const simulation = new Simulation({ clock: systemClock });
    await simulation.simulate('system', { name: 'A', bytes: 191_690_365 });
    await simulation.simulate('system', { name: 'B', bytes: 4096, obstacle: '' });
    return simulation.systems;
  },
};

for (const [system, driver] of Object.entries(drivers)) {
  test(`installed systems on ${system}`, async (t) => {
    const systems = await driver(t);
    const [running, other] = (await systems.list()) as [PlatformSystem, PlatformSystem];
    assert.deepEqual(
      [running.running, running.starts, running.version, running.bytes, running.obstacle],
      [true, 'next', '0.1.0', 191_690_365, ''],
    );
    assert.deepEqual([other.running, other.starts, other.bytes, other.obstacle], [false, 'no', 4096, '']);
    for (const one of [running, other]) assert.ok(one.createdMs === null || one.createdMs > Date.UTC(2026, 0, 1));
    const after = await systems.activate(other.name);
    assert.deepEqual(
      after.map(({ name, running, starts }) => [name, running, starts]),
      [
        [running.name, true, 'no'],
        [other.name, false, 'next'],
      ],
    );
    assert.deepEqual(await systems.list(), after);
  });
}

test('what execd says of systems and cannot be read is an error, never a machine without a system', () => {
  const one = { name: 'A', running: true, starts: 'next', createdMs: null, bytes: 1, version: null, obstacle: '' };
  assert.equal(parseSystems({ systems: [one] }).length, 1);
  assert.deepEqual(parseSystems({ systems: null }), []);
  for (const answer of [
    null,
    {},
    { systems: {} },
    { systems: [null] },
    { systems: [{ ...one, starts: 'sometimes' }] },
    { systems: [{ ...one, bytes: '1' }] },
    { systems: [{ ...one, name: undefined }] },
  ]) {
    assert.throws(() => parseSystems(answer), /installed systems cannot be read/, JSON.stringify(answer));
  }
});
