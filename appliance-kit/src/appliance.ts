// The domains, in the order in which they are made and started: one may use what those before it provide. It holds no logic
// of any of them.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { auditDomain } from './access/audit/index.ts';
import { auditChainDomain } from './access/audit-chain/index.ts';
import { auditForwardingDomain } from './access/audit-forwarding/index.ts';
import { authorizeDomain } from './access/authorize/index.ts';
import { configurationChangesDomain } from './access/configuration-changes/index.ts';
import { consoleDomain } from './access/console/index.ts';
import { factorsDomain } from './access/factors/index.ts';
import { firewallDomain } from './access/firewall/index.ts';
import { providersDomain } from './access/providers/index.ts';
import { sessionDomain } from './access/session/index.ts';
import { setupDomain } from './access/setup/index.ts';
import { signInRequestsDomain } from './access/sign-in-requests/index.ts';
import { sshDomain } from './access/ssh/index.ts';
import { tokensDomain } from './access/tokens/index.ts';
import { usersDomain } from './access/users/index.ts';
import { actionsDomain } from './alerting/actions/index.ts';
import { alertsDomain } from './alerting/alerts/index.ts';
import type { AnyAlertClass } from './alerting/catalogue/alert-class.ts';
import { destinationsDomain } from './alerting/destinations/index.ts';
import { findingsDomain } from './alerting/findings/index.ts';
import { outboxDomain } from './alerting/outbox/index.ts';
import { silencesDomain } from './alerting/silences/index.ts';
import { thresholdsDomain } from './alerting/thresholds/index.ts';
import { applicationsDomain } from './analytics/applications/index.ts';
import { hostsDomain } from './analytics/hosts/index.ts';
import { incomingDomain } from './analytics/incoming/index.ts';
import { inputsDomain } from './analytics/inputs/index.ts';
import { meaningsDomain } from './analytics/meanings/index.ts';
import { objectivesDomain } from './analytics/objectives/index.ts';
import { outputsDomain } from './analytics/outputs/index.ts';
import { recordingRulesDomain } from './analytics/recording-rules/index.ts';
import { retentionDomain } from './analytics/retention/index.ts';
import { statisticsDomain } from './analytics/statistics/index.ts';
import { storeDomain } from './analytics/store/index.ts';
import { worksheetsDomain } from './analytics/worksheets/index.ts';
import type { Clock } from './base/clock.ts';
import type { Config } from './base/config.ts';
import type { Log } from './base/log.ts';
import { logFailure } from './base/problems/log-failure.ts';
import type { DeliveryTiming, Kernel } from './domain/domain.ts';
import { type AnyDomain, inOrder, type Provided } from './domain/in-order.ts';
import type { SettingsPart } from './domain/settings-part.ts';
import { createApp } from './http/app.ts';
import { type GateParts, identify } from './http/gate/gate.ts';
import { Changes } from './http/live-updates/changes.ts';
import { changeSchema } from './http/live-updates/schema.ts';
import { openapi } from './http/openapi.ts';
import type { Routes } from './http/routes.ts';
import { jobsDomain } from './jobs/index.ts';
import { Peer } from './peers/peer.ts';
import { Storaged } from './peers/storaged.ts';
import { Tracerd } from './peers/tracerd.ts';
import type { Platform } from './platform/platform.ts';
import { Poller } from './poller/poller.ts';
import { Timetable } from './schedules/timetable.ts';
import { Database, type Steps } from './state/database.ts';
import { openSeal } from './state/sealed.ts';
import { Settings, settingsMigrations } from './state/settings.ts';
import { datasetsDomain } from './storage/datasets/index.ts';
import { disksDomain } from './storage/disks/index.ts';
import { inventoryDomain } from './storage/inventory/index.ts';
import { poolsDomain } from './storage/pools/index.ts';
import { replicationDomain } from './storage/replication/index.ts';
import { snapshotsDomain } from './storage/snapshots/index.ts';
import { bundlesDomain } from './support/bundles/index.ts';
import { crashesDomain } from './support/crashes/index.ts';
import { apiDomain } from './system/api/index.ts';
import { bootEnvironmentsDomain } from './system/boot-environments/index.ts';
import { certificateDomain } from './system/certificate/index.ts';
import { faultsDomain } from './system/faults/index.ts';
import { hardwareDomain } from './system/hardware/index.ts';
import { logsDomain } from './system/logs/index.ts';
import { machineDomain } from './system/machine/index.ts';
import { networkDomain } from './system/network/index.ts';
import { powerDomain } from './system/power/index.ts';
import { servicesDomain } from './system/services/index.ts';
import { settingsDomain } from './system/settings/index.ts';
import { simulationDomain } from './system/simulation/index.ts';
import { snmpAgentDomain } from './system/snmp-agent/index.ts';
import { statusDomain } from './system/status/index.ts';
import { timeDomain } from './system/time/index.ts';
import { tuningDomain } from './system/tuning/index.ts';
import { versionDomain } from './system/version/index.ts';

export const domains = inOrder(
  auditDomain,
  jobsDomain,
  usersDomain,
  factorsDomain,
  silencesDomain,
  alertsDomain,
  destinationsDomain,
  sessionDomain,
  providersDomain,
  signInRequestsDomain,
  tokensDomain,
  consoleDomain,
  setupDomain,
  authorizeDomain,
  auditChainDomain,
  auditForwardingDomain,
  configurationChangesDomain,
  inventoryDomain,
  disksDomain,
  machineDomain,
  hardwareDomain,
  outboxDomain,
  poolsDomain,
  servicesDomain,
  faultsDomain,
  storeDomain,
  datasetsDomain,
  snapshotsDomain,
  replicationDomain,
  statisticsDomain,
  retentionDomain,
  meaningsDomain,
  inputsDomain,
  outputsDomain,
  worksheetsDomain,
  recordingRulesDomain,
  objectivesDomain,
  bundlesDomain,
  crashesDomain,
  actionsDomain,
  thresholdsDomain,
  hostsDomain,
  applicationsDomain,
  certificateDomain,
  timeDomain,
  networkDomain,
  tuningDomain,
  versionDomain,
  bootEnvironmentsDomain,
  powerDomain,
  logsDomain,
  findingsDomain,
  incomingDomain,
  statusDomain,
  snmpAgentDomain,
  sshDomain,
  firewallDomain,
  settingsDomain,
  apiDomain,
  simulationDomain,
);

/** The routes of every domain, in their order. */
export const allRoutes: readonly Routes[] = (domains as readonly AnyDomain[]).map(({ routes }) => routes ?? {});
export const allAlertClasses: readonly AnyAlertClass[] = (domains as readonly AnyDomain[]).flatMap(
  (one) => one.alertClasses ?? [],
);
/** What the database is made of. */
export const allSteps: readonly Steps[] = [
  { name: 'state', migrations: settingsMigrations },
  ...(domains as readonly AnyDomain[]).map(({ name, migrations = [] }) => ({ name, migrations })),
];
const allTopics: readonly string[] = (domains as readonly AnyDomain[]).flatMap(({ topics }) => topics ?? []).sort();
const allJobKinds: readonly string[] = (domains as readonly AnyDomain[]).flatMap(({ jobKinds }) =>
  Object.keys(jobKinds ?? {}),
);
export const describeApi = (version: string) =>
  openapi(version, allRoutes, [
    changeSchema(allTopics),
    ...(domains as readonly AnyDomain[]).flatMap(({ schemas }) => schemas ?? []),
  ]);

export type Appliance = Provided<typeof domains> & {
  readonly app: FastifyInstance;
  readonly changes: Changes;
  readonly db: Database;
  settingsParts(): readonly SettingsPart[];
  readonly timetable: Timetable;
  readonly poller: Poller;
  /** Starts background work. */
  start(): Promise<void>;
  /** Ends it in order; what is not done is taken up at the next start. */
  stop(): Promise<void>;
};

export interface ApplianceParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly platform: Platform;
  readonly log: Log;
  readonly deliveryTiming?: DeliveryTiming;
}

export function createAppliance({ config, clock, platform, log, deliveryTiming = {} }: ApplianceParts): Appliance {
  mkdirSync(config.state, { recursive: true, mode: 0o700 });
  const db = new Database(join(config.state, 'state.db'), allSteps);
  const changes = new Changes(allTopics);
  const timetable = new Timetable({ clock, log, timeZone: () => platform.identity().timeZone });
  const poller = new Poller();
  const peer = (name: string) => new Peer(name, join(config.run, name, 'http.sock'));
  const identities: GateParts['identities'][number][] = [];
  const cookies = { secure: config.secureCookies };
  const gate: GateParts = { identities, simulated: platform.simulate !== undefined, cookies, clock };
  let described: ReturnType<typeof describeApi> | undefined;
  const kernel: Kernel = {
    ...{ config, clock, log, platform, db, changes, timetable, poller, deliveryTiming },
    settings: new Settings(db),
    seal: openSeal(config.state, log),
    storaged: new Storaged(peer('storaged')),
    tracerd: new Tracerd(peer('tracerd')),
    supportd: peer('supportd'),
    alertClasses: allAlertClasses,
    jobKinds: new Set(allJobKinds),
    hostName: () => platform.identity().hostName,
    identify: (request) => identify(gate, request),
    settingsParts: () => created.flatMap((one) => one.settingsParts ?? []),
    allRoutes: () => allRoutes,
    // It never changes, and the command line reads it each time.
    openapi: () => (described ??= describeApi(config.version)),
  };

  let provided: object = kernel;
  // `inOrder` has made sure that each finds what it needs.
  const created = (domains as readonly AnyDomain[]).map(({ routes = {}, create }) => {
    const one = create(provided);
    provided = { ...provided, ...one.provides };
    if (one.identities !== undefined) identities.push(one.identities);
    poller.add(one.watch ?? []);
    return { routes, ...one };
  });
  const app = createApp({
    gate,
    served: created.map(({ routes, handlers = {} }) => ({ routes, handlers })),
    refused: (refusal) => {
      for (const one of created) one.refused?.(refusal);
    },
    mayWrite: async (route) => {
      for (const one of created) await one.mayWrite?.(route);
    },
    wrote: async (route, caller) => {
      for (const one of created) await one.wrote?.(route, caller);
    },
    log,
    clock,
  });
  // Run when it is told to listen, before it does.
  app.addHook('onReady', async () => {
    for (const one of created) one.beforeAnswers?.();
  });
  const timers: NodeJS.Timeout[] = [];
  /** One timer for all that have the same period: the process wakes up once for them. */
  const repeating = new Map<number, (() => void)[]>();
  const repeat = (everyMs: number, run: () => unknown) => {
    const once = async () => {
      try {
        await run();
      } catch (error) {
        logFailure(log, 'something that is done periodically failed', error);
      }
    };
    void once();
    const others = repeating.get(everyMs);
    if (others !== undefined) {
      others.push(once);
      return;
    }
    const all: (() => void)[] = [once];
    repeating.set(everyMs, all);
    timers.push(
      setInterval(() => {
        for (const one of all) one();
      }, everyMs),
    );
  };

  return {
    ...(provided as Kernel & Provided<typeof domains>),
    app,
    start: async () => {
      for (const one of created) {
        await one.start?.();
        for (const { everyMs, run } of one.periodic ?? []) repeat(everyMs, run);
      }
      repeat(config.pollMs, () => poller.look());
      timetable.start();
    },
    stop: async () => {
      for (const timer of timers) clearInterval(timer);
      poller.stop();
      await timetable.stop();
      // Streams of changes end, so that closing does not wait for them; what was asked for is still answered.
      changes.close();
      await app.close().catch((error: unknown) => logFailure(log, 'closing failed', error));
      for (const one of created.toReversed()) await one.stop?.();
      db.close();
    },
  };
}
