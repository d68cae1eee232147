// The privileged verbs, as docs/api/execd.md lists them. What may be done at all is execd's decision.
import type { Readable } from 'node:stream';
import { onBehalfOf } from '../base/on-behalf-of.ts';
import type { Peer } from '../peers/peer.ts';
import type { CertificateVerbs } from './certificate.ts';
import type { DatasetPlan, KeyChange, RollbackPlan, SnapshotPlan } from './datasets.ts';
import type { FirewallDocument } from './firewall.ts';
import type { NetworkVerbs } from './network-settings.ts';
import type { PoolPlan, ServiceAction, SnmpAccess } from './platform.ts';
import type { VdevPlan } from './pool.ts';
import type { SshAccess } from './ssh.ts';
import type { TimeVerbs } from './time.ts';
import type { TuningVerbs } from './tuning.ts';

interface Verbs extends CertificateVerbs, NetworkVerbs, TimeVerbs, TuningVerbs {
  'pool.create': PoolPlan & { ashift: number };
  'pool.destroy': { name: string; confirm: string };
  'pool.export': { name: string };
  'pool.importable': Record<string, never>;
  'pool.import': { guid: string; name: string; force: boolean };
  'pool.clear': { pool: string; device: string };
  'pool.set': { pool: string; property: string; value: string };
  'pool.upgrade': { name: string };
  'pool.scrub': { pool: string; action: string };
  'pool.trim': { pool: string; action: string };
  'pool.history': { pool: string };
  'pool.errors': { pool: string };
  'pool.remembered': Record<string, never>;
  'vdev.add': { pool: string; kind: string; vdevs: readonly VdevPlan[] };
  'vdev.remove': { pool: string; vdev: string };
  'vdev.attach': { pool: string; device: string; disk: string };
  'vdev.detach': { pool: string; device: string };
  'vdev.replace': { pool: string; device: string; disk: string };
  'vdev.state': { pool: string; device: string; action: string; temporary: boolean; expand: boolean };
  'disks.list': Record<string, never>;
  'disk.wipe': { disk: string; confirm: string };
  'disk.smart': { disk: string };
  'disk.selftest': { disk: string; kind: string };
  'disk.locate': { disk: string; on: boolean };
  'faults.list': Record<string, never>;
  'hardware.inventory': Record<string, never>;
  'controller.read': { what: 'about' | 'sensors' | 'events' };
  'enclosures.read': Record<string, never>;
  'system.attach': { disk: string };
  'system.detach': { device: string };
  'system.list': Record<string, never>;
  'system.activate': { name: string };
  'telemetry.place': { pool: string };
  'service.action': { service: string; action: ServiceAction };
  'system.identity': { hostName: string; timeZone: string };
  'setup.finish': Record<string, never>;
  'snmp.configure': SnmpAccess;
  'ssh.configure': SshAccess;
  'ssh.check-key': { key: string };
  'firewall.try': { document: FirewallDocument; seconds: number };
  'firewall.confirm': { token: string };
  'firewall.take-back': { token: string };
  'firewall.set': { document: FirewallDocument };
  'firewall.read': Record<string, never>;
  power: { action: 'reboot' | 'off' };

  'dataset.create': DatasetPlan;
  'dataset.set': { name: string; properties: Record<string, string> };
  'dataset.inherit': { name: string; properties: readonly string[] };
  'dataset.rename': { name: string; to: string };
  'dataset.destroy': { name: string; confirm: string; recursive: boolean };
  'dataset.mount': { name: string };
  'dataset.unmount': { name: string };
  'dataset.key': KeyChange;
  'dataset.sample': { dataset: string; bytes: number };

  'snapshot.create': SnapshotPlan;
  'snapshot.destroy': { names: readonly string[]; deferred: boolean };
  'snapshot.hold': { names: readonly string[]; tag: string };
  'snapshot.release': { names: readonly string[]; tag: string };
  'snapshot.rename': { name: string; to: string };
  'snapshot.rollback': RollbackPlan;
  'snapshot.clone': { snapshot: string; name: string; properties: Record<string, string> };
  'replication.allow': { dataset: string; send: boolean; receive: boolean };

  'snapshot.diff': { snapshot: string; other: string };
  'snapshot.list-files': { snapshot: string; path: string };
}

/** Verbs whose answer is not JSON but what they read. */
interface Streams {
  'snapshot.read-file': { snapshot: string; path: string };
  /** Goes on as long as it is read. */
  'pool.events': Record<string, never>;
}

/** Longer than execd's own deadlines, so that its word on what went wrong is the one that is heard. */
const DEADLINES_MS: Record<keyof Verbs, number> = {
  'pool.create': 5 * 60_000,
  'pool.destroy': 5 * 60_000,
  'pool.export': 5 * 60_000,
  'pool.importable': 90_000,
  'pool.import': 5 * 60_000,
  'pool.clear': 3 * 60_000,
  'pool.set': 3 * 60_000,
  'pool.upgrade': 3 * 60_000,
  'pool.scrub': 3 * 60_000,
  'pool.trim': 3 * 60_000,
  'pool.history': 60_000,
  'pool.errors': 60_000,
  'pool.remembered': 10_000,
  'vdev.add': 3 * 60_000,
  'vdev.remove': 3 * 60_000,
  'vdev.attach': 3 * 60_000,
  'vdev.detach': 3 * 60_000,
  'vdev.replace': 3 * 60_000,
  'vdev.state': 3 * 60_000,
  'disks.list': 45_000,
  'disk.wipe': 5 * 60_000,
  'disk.smart': 30_000,
  'disk.selftest': 30_000,
  // illumos walks the topology of all shelves twice.
  'disk.locate': 90_000,
  'faults.list': 60_000,
  // On illumos the cards are of the topology, all of which is walked.
  'hardware.inventory': 90_000,
  'controller.read': 120_000,
  'enclosures.read': 60_000,
  // Copies more than a gigabyte from disk to disk.
  'system.attach': 15 * 60_000,
  'system.detach': 3 * 60_000,
  'system.list': 90_000,
  // Another boot environment may bring another boot loader.
  'system.activate': 12 * 60_000,
  'telemetry.place': 3 * 60_000,
  // illumos' svcadm waits as long as SMF does.
  'service.action': 5 * 60_000,
  'system.identity': 30_000,
  'setup.finish': 30_000,
  'snmp.configure': 5 * 60_000,
  // A stop waits until all sessions have ended.
  'ssh.configure': 60_000,
  'ssh.check-key': 10_000,
  'tls.state': 10_000,
  // A key of 4,096 bits may take long to find.
  'tls.request': 60_000,
  'tls.check': 10_000,
  // The web server is asked for 20 s, and may have to be started.
  'tls.install': 5 * 60_000,
  'tls.self-signed': 5 * 60_000,
  'tls.restore': 5 * 60_000,
  // Each load is read back, on illumos twice.
  'firewall.try': 3 * 60_000,
  'firewall.confirm': 30_000,
  'firewall.take-back': 3 * 60_000,
  'firewall.set': 3 * 60_000,
  'firewall.read': 60_000,
  'network.read': 30_000,
  'network.try': 60_000,
  'network.confirm': 30_000,
  'network.take-back': 2 * 60_000,
  'tunables.read': 40_000,
  'tunables.set': 2 * 60_000,
  'time.read': 40_000,
  'time.set': 5 * 60_000,
  power: 30_000,
  'dataset.create': 5 * 60_000,
  'dataset.set': 5 * 60_000,
  'dataset.inherit': 5 * 60_000,
  'dataset.rename': 5 * 60_000,
  // What destroys, and what waits for storaged, takes the longer the more there is.
  'dataset.destroy': 15 * 60_000,
  'dataset.mount': 2 * 60_000,
  'dataset.unmount': 5 * 60_000,
  'dataset.key': 5 * 60_000,
  'dataset.sample': 15 * 60_000,
  'snapshot.create': 5 * 60_000,
  'snapshot.destroy': 30 * 60_000,
  'snapshot.hold': 3 * 60_000,
  'snapshot.release': 3 * 60_000,
  'snapshot.rename': 3 * 60_000,
  'snapshot.rollback': 15 * 60_000,
  'snapshot.clone': 5 * 60_000,
  'replication.allow': 60_000,
  'snapshot.diff': 3 * 60_000,
  'snapshot.list-files': 60_000,
};

/** Verbs that change nothing of what is read of pools and services. */
const READING: ReadonlySet<keyof Verbs> = new Set<keyof Verbs>([
  ...([
    'pool.importable',
    'pool.history',
    'pool.errors',
    'pool.remembered',
    'disks.list',
    'disk.smart',
    'faults.list',
    'system.list',
    'ssh.configure',
    'ssh.check-key',
    'tls.state',
    'tls.request',
    'tls.check',
    'tls.install',
    'tls.self-signed',
    'tls.restore',
    'firewall.try',
    'firewall.confirm',
    'firewall.take-back',
    'firewall.set',
    'firewall.read',
    'network.read',
    'network.try',
    'network.confirm',
    'network.take-back',
    'time.read',
    'time.set',
    'tunables.read',
    'tunables.set',
  ] as const),
  ...(['dataset.sample', 'snapshot.diff', 'snapshot.list-files'] as const),
]);

export class Execd {
  readonly #peer: Peer;
  readonly #changed: () => void;

  /** @param changed called when a verb has ended that may have changed the machine, however it ended */
  constructor(peer: Peer, changed: () => void = () => {}) {
    this.#peer = peer;
    this.#changed = changed;
  }

  async run<V extends keyof Verbs>(verb: V, body: Verbs[V]): Promise<unknown> {
    const headers = { 'x-cistern-user': encodeURI(onBehalfOf.getStore() ?? 'appliance') };
    try {
      return await this.#peer.call({
        method: 'POST',
        path: `/v1/${verb}`,
        json: body,
        headers,
        deadlineMs: DEADLINES_MS[verb],
      });
    } finally {
      if (!READING.has(verb)) this.#changed();
    }
  }

  /** The data pools that the machine imports when it starts. */
  async remembered(): Promise<readonly string[]> {
    return ((await this.run('pool.remembered', {})) as { pools: string[] }).pools;
  }

  /** What a verb reads, as it comes. */
  open<V extends keyof Streams>(verb: V, body: Streams[V]): Promise<{ content: Readable; bytes: number }> {
    return this.#peer.open({ path: `/v1/${verb}`, json: body, deadlineMs: 60_000 });
  }
}
