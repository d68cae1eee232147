// What a domain is: one declared value, which its `index.ts` exports. `http/`, `alerting/catalogue`, `state/` and the poller
// are handed the lists of all domains and know none of them; `appliance.ts` is the list of domains in the order in which
// they start.
import type { FastifyRequest } from 'fastify';
import type { AnyAlertClass } from '../alerting/catalogue/alert-class.ts';
import type { Clock } from '../base/clock.ts';
import type { Config } from '../base/config.ts';
import type { Log } from '../base/log.ts';
import type { TSchema } from '../base/schema/schema.ts';
import type { Refusal } from '../http/app.ts';
import type { Caller } from '../http/gate/caller.ts';
import type { Identities } from '../http/gate/gate.ts';
import type { Handlers } from '../http/handlers.ts';
import type { Changes } from '../http/live-updates/changes.ts';
import type { Routes } from '../http/routes.ts';
import type { Peer } from '../peers/peer.ts';
import type { Storaged } from '../peers/storaged.ts';
import type { Tracerd } from '../peers/tracerd.ts';
import type { Platform } from '../platform/platform.ts';
import type { Poller, Watch } from '../poller/poller.ts';
import type { Timetable } from '../schedules/timetable.ts';
import type { Database, Migration } from '../state/database.ts';
import type { Seal } from '../state/sealed.ts';
import type { Setting, Settings } from '../state/settings.ts';
import type { SettingsPart } from './settings-part.ts';

/** How long deliveries wait; tests, which do not wait for minutes, have it shorter. */
export interface DeliveryTiming {
  readonly retryAfterMs?: (attempts: number) => number;
  readonly gatherMs?: number;
  readonly bursts?: {
    readonly many: number;
    readonly quietMs: number;
    readonly maxMs: number;
    readonly afterMs: number;
  };
}

/** What every domain is handed, besides what the domains before it provide. */
export interface Kernel {
  readonly config: Config;
  readonly clock: Clock;
  readonly log: Log;
  readonly platform: Platform;
  readonly db: Database;
  readonly settings: Settings;
  /** For secrets that have to be read again. */
  readonly seal: Seal;
  readonly changes: Changes;
  readonly timetable: Timetable;
  readonly poller: Poller;
  /** The other daemons. */
  readonly storaged: Storaged;
  readonly tracerd: Tracerd;
  readonly supportd: Peer;
  readonly deliveryTiming: DeliveryTiming;
  /** Every alert class of every domain. */
  readonly alertClasses: readonly AnyAlertClass[];
  /** Every kind of job that a domain has declared. */
  readonly jobKinds: ReadonlySet<string>;
  hostName(): string;
  /** Who a request comes from, asked again: a session may have ended since the gate let it through. */
  identify(request: FastifyRequest): Caller;
  /** The parts of the settings document of every domain, in the order of the domains. */
  settingsParts(): readonly SettingsPart[];
  /** The routes of every domain. */
  allRoutes(): readonly Routes[];
  /** The description of the API. */
  openapi(): unknown;
}

/** Something that is done again and again while the appliance runs. A failure is logged, and does not end it. */
export interface Periodic {
  readonly everyMs: number;
  readonly run: () => void | Promise<void>;
}

interface Life<Provided> {
  /** What the domains after this one may use, by the names under which they are handed it. */
  readonly provides?: Provided;
  /** Whose secrets the gate takes. */
  readonly identities?: Identities;
  /** Told what somebody who is known asked for and was refused. */
  readonly refused?: (refusal: Refusal) => void;
  /** What an administrator can set here, as parts of the settings document. */
  readonly settingsParts?: readonly SettingsPart[];
  /** Asked before each change, by the operation id of its route: throws what stands against it just now. */
  readonly mayWrite?: (route: string) => void | Promise<void>;
  /** Told after each change that succeeded, before it is answered. A failure is logged. */
  readonly wrote?: (route: string, caller: Caller) => void | Promise<void>;
  /** Looked at in every round of the poller. */
  readonly watch?: readonly Watch[];
  /** The first time right after the start. */
  readonly periodic?: readonly Periodic[];
  /** Done before the first request is answered, and before anything is started. A failure keeps akd from starting. */
  beforeAnswers?(): void;
  /** Domains start in the order of the list, and stop in the opposite order. */
  start?(): void | Promise<void>;
  stop?(): void | Promise<void>;
}

/** What `create` makes. TypeScript refuses a domain that leaves out a handler of one of its routes. */
export type Created<Declared extends Routes, Provided> = Life<Provided> &
  (keyof Declared extends never ? object : { readonly handlers: Handlers<Declared> });

export interface Domain<Parts, Provided, Declared extends Routes> {
  /** As its folder is called. Migrations are recorded under it, so it stays. */
  readonly name: string;
  readonly routes?: Declared;
  /** Components of the OpenAPI document that no route names. */
  readonly schemas?: readonly TSchema[];
  readonly alertClasses?: readonly AnyAlertClass[];
  /** What pages are informed of when it changes. Other domains may publish a topic that they change, too. */
  readonly topics?: readonly string[];
  /** The kinds of jobs that it starts, and what a job of each does. */
  readonly jobKinds?: Readonly<Record<string, string>>;
  // biome-ignore lint/suspicious/noExplicitAny: each setting has a type of its own
  readonly settings?: readonly Setting<any>[];
  readonly migrations?: readonly Migration[];
  readonly create: (parts: Parts) => Created<Declared, Provided>;
}

/** Declares a domain; its types follow from what is declared. */
export function domain<Parts extends Kernel, Provided = object, const Declared extends Routes = Record<never, never>>(
  declared: Domain<Parts, Provided, Declared>,
): Domain<Parts, Provided, Declared> {
  return declared;
}
