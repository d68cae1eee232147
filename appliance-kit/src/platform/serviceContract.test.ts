// The same services in the same states, as systemd and SMF tell of them and as the simulation plays them, are the same.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fmriOf, parseNeeds, parseServices as parseSmf, parseUse, Restarts } from './illumos/services.ts';
import { parseServices as parseSystemd, unitOf } from './linux/services.ts';
import type { Service } from './service.ts';
import { serviceFacts } from './service-facts.ts';
import { Simulation } from './sim/simulation.ts';

/** A machine before its first pool, with one service that gave up and one that ended once and was started again. */
const SINCE = Date.UTC(2026, 0, 1);
const STATES: Record<string, 'online' | 'stopped' | 'maintenance'> = { storaged: 'stopped', replicd: 'maintenance' };
const ENDED_ONCE = 'tracerd';
const stateOf = (name: string) => STATES[name] ?? 'online';

function linux(): Service[] {
  const blocks = serviceFacts.map(({ name }, index) => {
    const state = stateOf(name);
    const online = state === 'online';
    return [
      `Id=${unitOf(name)}`,
      'LoadState=loaded',
      `ActiveState=${online ? 'active' : state === 'maintenance' ? 'failed' : 'inactive'}`,
      `Result=${state === 'maintenance' ? 'start-limit-hit' : 'success'}`,
      `MainPID=${online ? 100 + index : 0}`,
      `MemoryCurrent=${online ? 4096 * (index + 1) : '[not set]'}`,
      `CPUUsageNSec=${online ? index * 1_000_000_000 : '18446744073709551615'}`,
      `NRestarts=${name === ENDED_ONCE ? 1 : 0}`,
      `StateChangeTimestamp=@${SINCE / 1000}`,
      `ConditionResult=${state === 'stopped' ? 'no' : 'yes'}`,
      `Requires=${name === 'akd' ? 'cistern-identity.service sysinit.target' : ''}`,
      `Wants=${name === 'akd' ? 'cistern-execd.service network-online.target' : ''}`,
    ].join('\n');
  });
  return parseSystemd(blocks.join('\n\n'));
}

function illumos(): Service[] {
  const property = (name: string, rest: string) => `${fmriOf(name)}/:properties/${rest}\n`;
  const look = (before: boolean) =>
    serviceFacts
      .map(({ name }, index) => {
        const state = stateOf(name) === 'stopped' ? 'disabled' : stateOf(name);
        const contract = before && name === ENDED_ONCE ? 1000 : 200 + index;
        return [
          property(name, `restarter/state astring ${state}`),
          property(name, 'restarter/next_state astring none'),
          property(
            name,
            `restarter/auxiliary_state astring ${state === 'maintenance' ? 'fault_threshold_reached' : 'none'}`,
          ),
          property(name, `restarter/state_timestamp time ${SINCE / 1000}.000000000`),
          property(name, `restarter/start_pid count ${100 + index}`),
          property(name, `restarter/contract count ${contract}`),
        ].join('');
      })
      .join('');
  const known = {
    restarts: new Restarts(),
    use: parseUse(serviceFacts.map((_, index) => `${200 + index} ${4 * (index + 1)} 00:0${index}\n`).join('')),
    needs: parseNeeds(
      property('akd', 'identity/entities fmri svc:/system/cistern/identity') +
        property('akd', 'execd/entities fmri svc:/application/cistern/execd:default') +
        property('akd', 'network/entities fmri svc:/milestone/network'),
    ),
  };
  parseSmf(look(true), known);
  return parseSmf(look(false), known);
}

async function sim(): Promise<Service[]> {
  const simulation = new Simulation({ clock: { now: () => SINCE, monotonic: () => 0 } });
  await simulation.simulate('service', { name: 'storaged', state: 'stopped' });
  await simulation.simulate('service', { name: 'replicd', state: 'maintenance', reason: 'It failed too often.' });
  await simulation.simulate('service-ends', { name: ENDED_ONCE });
  return simulation.services();
}

for (const [system, read] of Object.entries({ linux, illumos, sim })) {
  test(`services on ${system}`, async () => {
    const services = await read();
    assert.deepEqual(
      services.map(({ name }) => name),
      serviceFacts.map(({ name }) => name),
    );
    for (const [index, service] of services.entries()) {
      const { name } = service;
      const online = stateOf(name) === 'online';
      assert.equal(service.state, stateOf(name), name);
      assert.equal(service.since, '2026-01-01T00:00:00.000Z', name);
      assert.equal(service.restarts, name === ENDED_ONCE ? 1 : 0, name);
      // What does not run has no process, and uses nothing.
      assert.deepEqual(
        [service.pid === null, service.memoryBytes === null, service.cpuSeconds === null],
        [!online, !online, !online],
        name,
      );
      if (online && system !== 'sim') {
        assert.deepEqual(
          [service.pid, service.memoryBytes, service.cpuSeconds],
          [100 + index, 4096 * (index + 1), index],
        );
      }
      if (name === 'akd') assert.deepEqual([...service.needs].sort(), ['execd', 'identity']);
      // Only what failed says why.
      assert.equal(service.reason === null, stateOf(name) !== 'maintenance', name);
      if (service.reason !== null) assert.match(service.reason, /^It failed too often/);
    }
  });
}
