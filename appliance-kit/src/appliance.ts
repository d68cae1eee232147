// Puts the parts together: who knows whom. It holds no logic of its own.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Audit, auditRoutes } from './access/audit/audit.ts';
import { ConfigurationNews } from './access/audit/configuration-changes.ts';
import { Lockout, MOST_FAILURES } from './access/session/lockout.ts';
import { sessionRoutes } from './access/session/routes.ts';
import { Sessions } from './access/session/sessions.ts';
import { Setup, setupRoutes } from './access/setup/setup.ts';
import { timeZoneRoutes } from './access/setup/timezones.ts';
import { Tokens, tokenRoutes } from './access/tokens/tokens.ts';
import { keepAdministrators } from './access/users/administrators.ts';
import { Users, userRoutes } from './access/users/users.ts';
import { Actions } from './alerting/alerts/actions.ts';
import { Alerts, type Message } from './alerting/alerts/alerts.ts';
import { Conditions } from './alerting/alerts/conditions.ts';
import { alertRoutes } from './alerting/alerts/routes.ts';
import { Routing } from './alerting/alerts/routing.ts';
import { applianceStarted, applianceUpdated, deliveryRefused, signInLocked } from './alerting/catalogue/catalogue.ts';
import { Destinations } from './alerting/destinations/destinations.ts';
import { destinationRoutes } from './alerting/destinations/routes.ts';
import { Senders } from './alerting/destinations/send.ts';
import { snmpIdentity } from './alerting/destinations/snmp/identity.ts';
import { SnmpSender } from './alerting/destinations/snmp/send.ts';
import { Digest, digestRoutes } from './alerting/outbox/digest.ts';
import type { BurstOptions } from './alerting/outbox/grouping.ts';
import { Journal } from './alerting/outbox/journal.ts';
import { Outbox } from './alerting/outbox/outbox.ts';
import { Silences } from './alerting/silences/silences.ts';
import { Hints } from './alerting/thresholds/hints.ts';
import { thresholdRoutes } from './alerting/thresholds/routes.ts';
import { Thresholds } from './alerting/thresholds/thresholds.ts';
import { Watch } from './alerting/watch/watch.ts';
import { Analytics, analyticsRoutes } from './analytics/analytics.ts';
import { MarksSource } from './analytics/marks.ts';
import { retentionRoutes } from './analytics/retention/retention.ts';
import { Worksheets, worksheetRoutes } from './analytics/worksheets/worksheets.ts';
import { type Clock, iso } from './clock.ts';
import type { Config } from './config.ts';
import { createApp } from './http/app.ts';
import { authorizeRoutes } from './http/gate/authorize.ts';
import { type GateParts, identify } from './http/gate/gate.ts';
import type { Handlers } from './http/handlers.ts';
import { Changes, eventRoutes } from './http/live-updates/changes.ts';
import { openapi } from './http/openapi.ts';
import { asProblem, fail } from './http/problems/problem.ts';
import { Jobs, jobRoutes } from './jobs/jobs.ts';
import type { Log } from './log.ts';
import { Peer } from './peers/peer.ts';
import { Storaged } from './peers/storaged.ts';
import { Tracerd } from './peers/tracerd.ts';
import type { Platform } from './platform/platform.ts';
import { Database } from './state/database.ts';
import { Settings } from './state/settings.ts';
import { DatasetConditions } from './storage/datasets/conditions.ts';
import { Datasets, datasetRoutes } from './storage/datasets/datasets.ts';
import { Tree } from './storage/datasets/tree.ts';
import { DiskHealths, healthRoutes } from './storage/disks/health.ts';
import { Inventory } from './storage/disks/inventory.ts';
import { diskRoutes } from './storage/disks/routes.ts';
import { PoolConditions } from './storage/pools/conditions.ts';
import { operationRoutes, PoolOperations } from './storage/pools/operations.ts';
import { Pools, poolRoutes } from './storage/pools/pools.ts';
import { Scans, scanRoutes } from './storage/pools/scans.ts';
import { Replications, replicationRoutes } from './storage/replication/replications.ts';
import { ReplicationSenders } from './storage/replication/senders.ts';
import { Timetable } from './storage/schedules/timetable.ts';
import { SnapshotSchedules, scheduleRoutes } from './storage/snapshots/schedules.ts';
import { Snapshots, snapshotRoutes } from './storage/snapshots/snapshots.ts';
import { bundleRoutes } from './support/bundles/routes.ts';
import { Crashes, crashRoutes } from './support/crashes/crashes.ts';
import { systemRoutes } from './system/boot-environments/systems.ts';
import { servedCertificate } from './system/certificate/certificate.ts';
import { Upkeep } from './system/certificate/upkeep.ts';
import { Faults } from './system/faults/faults.ts';
import { logRoutes } from './system/logs/routes.ts';
import { Machine, machineRoutes } from './system/machine/machine.ts';
import { powerRoutes } from './system/power/power.ts';
import { OwnEnds } from './system/services/ownEnds.ts';
import { Services, serviceRoutes } from './system/services/services.ts';
import { Agent, agentRoutes, WRITE_EVERY_MS } from './system/snmp-agent/agent.ts';
import { collect } from './system/snmp-agent/collect.ts';
import { Status, statusRoutes } from './system/status/status.ts';
import { noteVersion } from './system/version/version.ts';

export interface Appliance {
  readonly app: FastifyInstance;
  readonly actions: Actions;
  readonly alerts: Alerts;
  readonly audit: Audit;
  readonly changes: Changes;
  readonly db: Database;
  readonly jobs: Jobs;
  readonly replications: Replications;
  readonly journal: Journal;
  readonly snapshots: Snapshots;
  readonly timetable: Timetable;
  readonly thresholds: Thresholds;
  readonly watch: Watch;
  /** Begins what goes on by itself: evaluating, watching, delivering. */
  start(): Promise<void>;
  /** Ends it in order; what is not done is taken up at the next start. */
  stop(): Promise<void>;
}

export interface ApplianceParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly platform: Platform;
  readonly log: Log;
  /** For tests, which do not wait for minutes. */
  readonly retryAfterMs?: (attempts: number) => number;
  readonly gatherMs?: number;
  readonly bursts?: BurstOptions;
}

export function createAppliance({
  config,
  clock,
  platform,
  log,
  retryAfterMs,
  gatherMs,
  bursts,
}: ApplianceParts): Appliance {
  mkdirSync(config.state, { recursive: true, mode: 0o700 });
  const db = new Database(join(config.state, 'state.db'));
  const settings = new Settings(db);
  const changes = new Changes();
  const audit = new Audit(db, clock);
  const cookies = { secure: config.secureCookies };
  const hostName = () => platform.identity().hostName;

  const administratorsKept = () => {
    try {
      keepAdministrators(db, config.state);
    } catch (error) {
      log.error('the page for when akd is down does not know who may sign in', { error: asProblem(error).detail });
    }
  };
  const users = new Users(db, clock, administratorsKept);
  const sessions = new Sessions(db, clock);
  const tokens = new Tokens(db, clock);
  const lockout = new Lockout(db, clock);
  const jobs = new Jobs({ db, clock, changes, log });

  const peer = (name: string) => new Peer(name, join(config.run, name, 'http.sock'));
  const storaged = new Storaged(peer('storaged'));
  const tracerd = new Tracerd(peer('tracerd'));

  const inventory = new Inventory(platform, clock);
  const services = new Services(platform, clock);
  const setupParts = {
    db,
    settings,
    users,
    sessions,
    lockout,
    audit,
    changes,
    platform,
    cookies,
    codeFile: config.setupCodeFile,
    log,
  };
  const setup = new Setup(setupParts);

  const snmp = snmpIdentity(settings, clock);
  const destinations = new Destinations(db, clock, snmp.engineId);
  const lastHour = (message: Message) => thresholds.lastHour(message.alert);
  const senders = new Senders(new SnmpSender(join(config.state, 'snmp'), snmp), lastHour);
  const journal = new Journal(config.cistern, join(config.state, 'outbox'), log);
  const digest = new Digest(settings, clock);
  const outbox = new Outbox({
    digest,
    db,
    clock,
    journal,
    destinations,
    changes,
    log,
    send: (destination, message) => senders.send(destination, message),
    refused: ({ id, name }, { eventId, alert: { class: of, title } }, error) => {
      // Nor is it told of that a message about a refusal was refused.
      if (of === deliveryRefused.class) return;
      const args = { destinationId: id, destinationName: name, eventId, title, error };
      alerts.raise({ kind: deliveryRefused, args });
    },
    ...(retryAfterMs && { retryAfterMs }),
    ...(gatherMs !== undefined && { gatherMs }),
    ...(bursts && { bursts }),
  });
  const recipients = () => destinations.enabled();
  const known = (id: string) => destinations.stored(id) !== undefined;
  const routing = new Routing({ db, audit, changes, recipients, known });
  const alerts: Alerts = new Alerts({
    db,
    clock,
    changes,
    hostName,
    recipients,
    routing,
    silences: () => silences,
    written: () => outbox.written(),
  });
  const silences: Silences = new Silences({
    ...{ db, clock, audit, changes },
    changed: () => alerts.release(),
    activeSubjects: () => alerts.activeSubjects(),
  });
  const conditions = new Conditions(alerts, clock);
  const supportd = peer('supportd');
  const crashes = new Crashes({ supportd, conditions, changes });
  const upkeep = new Upkeep({
    ...{ clock, conditions, storaged, log },
    certificate: () => servedCertificate(config.httpsPort),
  });
  const thresholds: Thresholds = new Thresholds({
    ...{ db, clock, changes, alerts, storaged, log, intervalMs: config.evaluateMs },
    actions: () => actions,
    audience: routing,
    rulesChanged: () => hints.changed(),
  });
  const hints: Hints = new Hints({ rules: thresholds, storaged, log });
  const timetable = new Timetable({ clock, log, timeZone: () => platform.identity().timeZone });
  timetable.add(() => digest.entries(outbox));
  const scans = new Scans({ db, clock, log, platform, inventory, timetable, alerts, audit, changes });
  const healths = new DiskHealths({ platform, inventory, clock, audit });
  const poolConditions = new PoolConditions({ platform, conditions, scans, healths });
  const linkUp = () => outbox.tryAgain();
  const machine = new Machine({ platform, clock, settings, conditions, alerts, healths, audit, changes, linkUp });
  const news = new ConfigurationNews({ db, clock, settings, alerts });
  const watch = new Watch({
    ...{ inventory, services, destinations, storaged, tracerd, conditions, changes, clock, machine, thresholds },
    pools: poolConditions,
    faults: new Faults(platform, clock, conditions),
  });
  const changed = () => void watch.look();
  const pools = new Pools({ platform, inventory, jobs, audit, changed });
  const operations = new PoolOperations({
    platform,
    inventory,
    jobs,
    audit,
    changed,
    lookEveryMs: Math.min(1_000, config.pollMs / 5),
  });
  const tree = new Tree(platform.datasets, clock, () => changes.publish('datasets'));
  const schedules = new SnapshotSchedules({ db, clock, log, platform, tree, timetable, audit, changes });
  const replicationSenders = new ReplicationSenders({ db, clock, platform, tree, audit });
  const replications = new Replications({
    ...{ db, clock, log, platform, tree, timetable, jobs, audit, changes },
    senders: replicationSenders,
  });
  const moved = (from: string, to: string | null) => {
    schedules.moved(from, to);
    replications.moved(from, to);
  };
  const datasets = new Datasets({ platform, tree, jobs, audit, moved });
  const snapshots = new Snapshots({ platform, tree, jobs, audit, clock });
  const worksheets = new Worksheets({ db, clock, audit, changes, tracerd });
  const actions: Actions = new Actions({
    ...{ db, clock, log, audit, changes, alerts, tracerd, worksheets, snapshots, supportd },
  });
  const datasetConditions = new DatasetConditions({ tree, schedules, replications, conditions });
  const lookAtDatasets = () =>
    datasetConditions.look().catch((error: unknown) => log.error('datasets', { error: asProblem(error).detail }));
  const status = new Status({
    clock,
    platform,
    inventory,
    services,
    alerts,
    storaged,
    setup,
    version: config.version,
  });

  const agent = new Agent({
    ...{ settings, clock, platform, log, engineId: snmp.engineId },
    file: join(config.run, 'snmp', 'objects'),
    collect: (index) => collect({ clock, status, inventory, tree, services, alerts, storaged, index }),
  });

  const gate: GateParts = { sessions, tokens, simulated: platform.simulate !== undefined };
  const handlers: Handlers = {
    getOpenapi: () => openapi(config.version),
    ...setupRoutes(setupParts, setup),
    ...timeZoneRoutes(),
    ...sessionRoutes({
      ...{ db, users, sessions, lockout, audit, cookies },
      lockedOut: (account, address) => {
        const args = { account, address, attempts: MOST_FAILURES, at: iso(clock.now()) };
        alerts.raise({ kind: signInLocked, args });
      },
    }),
    ...userRoutes(users),
    ...tokenRoutes({ tokens, db, audit }),
    ...auditRoutes(audit),
    ...statusRoutes(status),
    ...serviceRoutes({ services, platform, audit, changed, log }),
    ...diskRoutes(inventory),
    ...poolRoutes(pools, inventory),
    ...operationRoutes(operations),
    ...scanRoutes(scans),
    ...healthRoutes(healths),
    ...machineRoutes(machine),
    ...systemRoutes(platform, audit),
    ...datasetRoutes(datasets, platform),
    ...snapshotRoutes(snapshots),
    ...scheduleRoutes(schedules),
    ...replicationRoutes({ replications, senders: replicationSenders, platform }),
    ...jobRoutes(jobs, audit),
    ...destinationRoutes({
      db,
      clock,
      destinations,
      outbox,
      audit,
      changes,
      hostName,
      send: (destination, message, line) => senders.send(destination, message, line),
    }),
    ...agentRoutes({ agent, audit, changes }),
    ...digestRoutes({ digest, outbox, audit, changes }),
    ...thresholdRoutes({ thresholds, db, audit, worksheets }),
    ...alertRoutes({ alerts, silences, routing, db, audit }),
    ...analyticsRoutes({
      tracerd,
      analytics: new Analytics({ tracerd, storaged, audit, changes, clock }),
      marks: new MarksSource(db, tree),
    }),
    ...worksheetRoutes(worksheets),
    ...bundleRoutes({ supportd, audit, changes }),
    ...crashRoutes(crashes, audit),
    ...logRoutes(supportd, (request) => identify(gate, request)),
    ...eventRoutes(changes, (request) => identify(gate, request)),
    ...retentionRoutes(peer('storaged'), audit),
    ...powerRoutes(platform, audit),
    ...authorizeRoutes(gate),
    simulate: async ({ params, body }) => {
      if (platform.simulate === undefined) throw fail('not_found', 'This is not a simulation.');
      await platform.simulate(params.name, body);
      await watch.look();
      await tree.now();
      await lookAtDatasets();
      return undefined;
    },
  };
  const app = createApp({ gate, handlers, log });

  const ownEnds = new OwnEnds(settings);
  const timers: NodeJS.Timeout[] = [];
  let unwatch: (() => void) | undefined;
  let evaluating: NodeJS.Timeout | undefined;
  let ended = false;
  /**
   * Once a second while that takes a fifth of the time at most, else more rarely: as rarely as was asked for, when it must be.
   */
  const evaluate = async () => {
    const began = performance.now();
    await thresholds
      .evaluate()
      .catch((error: unknown) => log.error('thresholds', { error: String((error as Error).stack) }));
    if (ended) return;
    const took = performance.now() - began;
    const rest = Math.max(config.evaluateMs / 5, Math.min(config.evaluateMs - took, 4 * took));
    evaluating = setTimeout(() => void evaluate(), rest);
  };
  return {
    app,
    actions,
    alerts,
    audit,
    changes,
    db,
    jobs,
    replications,
    journal,
    snapshots,
    timetable,
    thresholds,
    watch,
    start: async () => {
      outbox.start();
      const bootId = await platform.bootId();
      watch.endedBefore('akd', ownEnds.began(bootId, platform.uptimeSeconds() * 1000));
      // Before set-up there is nobody to tell, and no name to tell it by.
      if (setup.completed()) {
        const args = { hostName: hostName(), version: config.version, bootId };
        alerts.raise({ kind: applianceStarted, args });
      }
      noteVersion(settings, config.version, (before) => {
        const args = { hostName: hostName(), before, version: config.version, bootId };
        if (setup.completed()) alerts.raise({ kind: applianceUpdated, args });
      });
      void evaluate();
      hints.start();
      const each = () => {
        try {
          alerts.tick();
          machine.tick();
          news.tick();
        } catch (error) {
          log.error('alerts', { error: String((error as Error).stack) });
        }
        void actions.tick();
      };
      each();
      timers.push(setInterval(each, 1_000));
      timers.push(setInterval(() => void watch.look(), config.pollMs));
      timers.push(setInterval(() => void lookAtDatasets(), config.pollMs));
      administratorsKept();
      void crashes.follow();
      upkeep.start();
      void agent.write();
      timers.push(setInterval(() => void agent.write(), WRITE_EVERY_MS));
      void replications.begin();
      timers.push(setInterval(() => replications.retry(), config.pollMs));
      void watch.look();
      unwatch = platform.watchPools?.(changed);
      void lookAtDatasets();
      timetable.start();
    },
    stop: async () => {
      ended = true;
      clearTimeout(evaluating);
      for (const timer of timers) clearInterval(timer);
      unwatch?.();
      hints.stop();
      crashes.stop();
      upkeep.stop();
      await agent.stop();
      await timetable.stop();
      changes.close();
      await thresholds.stop();
      await actions.settled();
      await app.close().catch((error: unknown) => log.error('closing failed', { error: asProblem(error).detail }));
      await outbox.stop();
      await journal.close();
      ownEnds.stopped();
      db.close();
    },
  };
}
