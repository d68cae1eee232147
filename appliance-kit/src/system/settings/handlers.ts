// Exporting, planning, applying, and the history.
import type { Audit } from '../../access/audit/index.ts';
import { fail } from '../../base/problems/problem.ts';
import type { SettingsPart } from '../../domain/settings-part.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Age } from './age.ts';
import type { Applier } from './applying.ts';
import { readDocument, secretsOf, secretsText, writeDocument } from './document.ts';
import type { History } from './history.ts';
import type { Plan, Planner, Wanted } from './plan.ts';
import { plain } from './pointer.ts';
import type { routes } from './routes.ts';
import type { SettingsPlanInput } from './schema.ts';

export interface SettingsRoutesParts {
  readonly parts: () => readonly SettingsPart[];
  readonly planner: () => Planner;
  readonly applier: Applier;
  readonly history: History;
  readonly age: Age;
  readonly audit: Audit;
  readonly version: string;
  readonly hostName: () => string;
}

const LIST = 100;

export function settingsRoutes(own: SettingsRoutesParts): Handlers<typeof routes> {
  const { planner, applier, history, age, audit } = own;

  const chosen = (names: readonly string[] | undefined): readonly SettingsPart[] => {
    const all = own.parts();
    const unknown = names?.find((name) => !all.some((part) => part.name === name));
    if (unknown !== undefined) {
      throw fail(
        'invalid_request',
        `There is no part ${unknown} of the settings.`,
        `There are ${all.map(({ name }) => name).join(', ')}.`,
        [{ path: '/parts', message: 'names a part that there is not' }],
      );
    }
    return names === undefined ? all : all.filter(({ name }) => names.includes(name));
  };

  const values = async (names: readonly string[] | undefined) => {
    const found: (readonly [SettingsPart, unknown])[] = [];
    for (const part of chosen(names)) found.push([part, plain(await part.read())]);
    return found;
  };
  const whose = () => ({ hostName: own.hostName(), version: own.version });

  const wanted = async ({
    document,
    parts,
    passphrase,
    withoutSecrets = false,
  }: SettingsPlanInput): Promise<Wanted> => {
    const read = readDocument(document);
    if (read.sealed === null || withoutSecrets) return { document: read, only: parts, secrets: null };
    if (passphrase === undefined) {
      throw fail(
        'passphrase_required',
        'The secrets of the document are sealed.',
        'Give the passphrase, or have them left out.',
        [{ path: '/passphrase', message: 'is missing' }],
      );
    }
    return { document: read, only: parts, secrets: secretsOf(await age.open(passphrase, read.sealed)) };
  };

  const restored = (id: string): Wanted => {
    const { part, version, value } = history.before(id);
    return { document: { parts: new Map([[part.name, { version, value }]]) }, secrets: null };
  };

  const carriedOut = async (plan: Plan, fingerprint: string, caller: Caller, cause: 'apply' | 'restore') => {
    const { refused } = plan.shown;
    if (refused.length > 0) {
      const words = refused.map(({ path, message }) => `${path} ${message}`).join('; ');
      throw fail(
        'invalid_request',
        `Nothing was applied: ${words}.`,
        'Change the document, and look at its plan again.',
        refused,
      );
    }
    if (plan.shown.fingerprint !== fingerprint) {
      throw fail(
        'plan_changed',
        'What would be applied is no longer what was looked at: settings were changed since, or it is another document.',
        'Look at the plan again.',
      );
    }
    return { plan: plan.shown, history: plan.parts.length === 0 ? [] : await applier.apply(plan, caller, cause) };
  };

  return {
    listSettingsParts: () => ({
      items: own.parts().map(({ name, title, version }) => ({ name, title, version })),
    }),

    getSettings: async ({ query }) => writeDocument(whose(), await values(query.parts), null),

    exportSettings: async ({ body, caller }) => {
      const all = await values(body.parts);
      const sealed = await age.seal(body.passphrase, secretsText(all));
      audit.record(caller, 'settings.export', all.map(([{ name }]) => name).join(', '));
      return writeDocument(whose(), all, sealed);
    },

    planSettings: async ({ body, caller }) => (await planner().plan(await wanted(body), caller)).shown,

    applySettings: async ({ body, caller }) => {
      const { fingerprint, ...given } = body;
      applier.mustBeFree();
      return carriedOut(await planner().plan(await wanted(given), caller), fingerprint, caller, 'apply');
    },

    listSettingsHistory: ({ query: { limit = LIST, before, part } }) => ({ items: history.list(limit, before, part) }),
    compareSettings: ({ params, query }) => history.compare(params.id, query.with),
    planSettingsRestore: async ({ params, caller }) => (await planner().plan(restored(params.id), caller)).shown,
    restoreSettings: async ({ params, body, caller }) => {
      applier.mustBeFree();
      return carriedOut(await planner().plan(restored(params.id), caller), body.fingerprint, caller, 'restore');
    },
  };
}
