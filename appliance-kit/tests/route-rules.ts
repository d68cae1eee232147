// The rules of docs/api/rules.md that can be checked on the declarations alone.
import type { TSchema } from '../src/base/schema/schema.ts';
import type { Route, Routes } from '../src/http/routes.ts';

/** What there is only one of, and why. */
export const SINGULAR: Readonly<Record<string, string>> = {
  session: 'the session of who asks',
  setup: 'the first set-up of this appliance',
  machine: 'this machine',
  hardware: 'the parts of this machine',
  'session-lifetime': 'one for all sessions',
  'second-factor-policy': 'one for all administrators',
  firewall: 'one for the appliance',
  network: 'that of the machine',
  time: 'one clock',
  tuning: 'that of the operating system',
  power: 'that of the machine',
  'power-plan': 'one at most',
  status: 'how this appliance is',
  retention: 'one for all measurements',
  'snmp-agent': 'one for the appliance',
  'ssh-access': 'one for the appliance',
  certificate: 'that of the web page',
  'alert-digest': 'one for the appliance',
  'alert-summary': 'one for the appliance',
  'alert-export': 'one file, made when it is asked for',
  'audit-log': 'one log; its entries have no address of their own',
  'input-certificate': 'one for all inputs',
  'audit-export': 'one file, made when it is asked for',
  'audit-chain': 'one for the audit log',
  'audit-retention': 'one for the audit log',
  'audit-forwarding': 'one for the audit log',
  'layout-advice': 'one answer to the disks of the question',
  'settings-document': 'one for the appliance',
  'application-naming': 'one for the appliance: its rules are one order',
  'openapi.json': 'a file name that tools expect',
};

/** Plural words whose GET is no list, and why. */
export const NO_LIST: Readonly<Record<string, string>> = {
  '/api/events': 'a stream',
  '/api/bundle-options': 'one form: contents and places side by side',
  '/api/status': 'not a plural',
  '/api/statistic-datasets/:name/stacks': 'one profile, with how many samples it is made of',
  '/api/alerts/:id/findings': 'one answer about one alert, with lists of several kinds in it',
  '/api/pools/:name/replacements': 'one answer about one device; its candidates are a part of it',
};

/** Routes whose names and answers are somebody else's, and whose. */
export const FOREIGN: Readonly<Record<string, string>> = {
  '/api/v1/rules': 'Prometheus’ API, as its clients ask it',
  '/api/v1/alerts': 'Prometheus’ API, as its clients ask it',
};

/** What an action begins with. */
export const VERBS = new Set(
  `acknowledge activate add apply approve attach cancel change clear clone collect confirm create destroy detach dismiss end enter estimate export fetch
  fill finish forget go hold import install label load locate mount name offline online place power preview reboot record refuse release remove rename
  replace restart reset restore resume retire retry rollback run scrub self set silence start stop suspend test trim try unload unmount upgrade use verify watch wipe
  withdraw`.split(/\s+/),
);

const KEBAB = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/;
/** What has a unit ends in it: as lateAfterMinutes, never as timeout. */
const WITHOUT_UNIT = /(timeout|duration|interval|delay|period|age|latency|size)$/i;
const isPlural = (word: string) => /[^s]s$|sses$|ses$/.test(word);
const isParameter = (part: string) => part.startsWith(':');

interface Properties {
  readonly properties?: Readonly<Record<string, Properties>>;
  readonly items?: Properties;
  readonly anyOf?: readonly Properties[];
  readonly type?: string;
}

/** Every property of a schema, with its name; schemas that name themselves are followed once. */
function* propertiesOf(schema: Properties, seen = new Set<Properties>()): Generator<[string, Properties]> {
  if (seen.has(schema)) return;
  seen.add(schema);
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    yield [name, property];
    yield* propertiesOf(property, seen);
  }
  if (schema.items !== undefined) yield* propertiesOf(schema.items, seen);
  for (const one of schema.anyOf ?? []) yield* propertiesOf(one, seen);
}

const names = (schema: TSchema | null | undefined) =>
  Object.keys((schema as Properties | null | undefined)?.properties ?? {});

/** Whether one request can fit both paths. */
function meet(a: readonly string[], b: readonly string[]): boolean {
  return (
    a.length === b.length && a.every((part, at) => isParameter(part) || isParameter(b[at] as string) || part === b[at])
  );
}

function* inItself(id: string, route: Route): Generator<string> {
  const { method, path, answer, query, body } = route;
  const parts = path.split('/').slice(2);
  const last = parts.at(-1) as string;
  const collection = parts[0] as string;
  const says = (what: string) => `${id}: ${method} ${path} ${what}`;
  for (const part of parts) {
    if (!isParameter(part) && !KEBAB.test(part) && SINGULAR[part] === undefined)
      yield says(`has “${part}”, which is not in kebab-case`);
  }
  if (!isPlural(collection) && SINGULAR[collection] === undefined) {
    yield says(`begins with “${collection}”, which is neither a plural nor in the list of single resources`);
  }
  if (isParameter(parts[0] as string)) yield says('begins with a parameter');

  const own = parts.length === 1 && (SINGULAR[last] !== undefined || isPlural(last));
  if (method === 'POST' && !own && (isParameter(last) || !VERBS.has(last.split('-', 1)[0] as string))) {
    yield says('is neither a collection nor ends in a verb');
  }
  if (method === 'DELETE' && !isParameter(last) && SINGULAR[last] === undefined) {
    yield says('removes no thing: undoing is a verb of its own, as a POST');
  }
  if (method === 'PUT' && isPlural(last)) yield says('replaces a collection');
  if (
    method === 'GET' &&
    !last.endsWith('-preview') &&
    parts.length > 1 &&
    VERBS.has(last) &&
    !['preview'].includes(last)
  ) {
    yield says('is an action; what is only looked at is a noun, or VERB-preview');
  }
  if (method === 'GET' && last === 'preview') yield says('is a preview without its verb: it is called VERB-preview');
  if (method !== 'GET' && last.endsWith('-preview')) yield says('is a preview, which changes nothing: it is a GET');
  if (method === 'GET' && body !== undefined) yield says('takes a body');

  const list = names(answer.schema).includes('items');
  if (
    method === 'GET' &&
    isPlural(last) &&
    !isParameter(last) &&
    !list &&
    answer.stream === undefined &&
    NO_LIST[path] === undefined
  ) {
    yield says('is a list that does not answer items');
  }
  const asked = names(query);
  if (asked.includes('offset')) {
    if (!asked.includes('limit')) yield says('has an offset and no limit');
    if (!names(answer.schema).includes('total')) yield says('has an offset, but does not answer the total');
    if (asked.includes('before')) yield says('pages by offset and by before');
  }
  if (asked.includes('before') && !asked.includes('limit')) yield says('has before and no limit');
  for (const name of asked) {
    if (['text', 'q', 'filter', 'pattern'].includes(name))
      yield says(`calls a text that is looked for “${name}” instead of search`);
  }
  const expected: Record<Route['method'], readonly number[]> = {
    GET: [200],
    PUT: [200],
    DELETE: [202, 204],
    POST: [200, 201, 202, 204],
  };
  if (!expected[method].includes(answer.status)) yield says(`answers ${answer.status}`);
  if (answer.status === 204 && answer.schema !== null) yield says('answers 204 with a content');
  if (answer.status === 201 && parts.some(isParameter)) yield says('answers 201, but is no collection');

  for (const schema of [query, body, answer.schema]) {
    for (const [name, { type }] of schema ? propertiesOf(schema as Properties) : []) {
      if (name.includes('_') || /^[A-Z]/.test(name)) yield says(`has the field “${name}”, which is not in camelCase`);
      if ((type === 'integer' || type === 'number') && WITHOUT_UNIT.test(name))
        yield says(`has “${name}”, whose name has no unit`);
    }
  }
}

/** Every rule that the routes break, in a sentence each. */
export function brokenRules(all: readonly Routes[]): string[] {
  const routes = all.flatMap((one) => Object.entries(one)).filter(([, { path }]) => path.startsWith('/api/'));
  const broken = new Set<string>();
  const ids = new Map<string, string>();
  for (const [id, route] of all.flatMap((one) => Object.entries(one))) {
    if (ids.has(id)) broken.add(`${id}: two routes have this operation id, ${ids.get(id)} and ${route.path}`);
    ids.set(id, route.path);
  }
  for (const [id, route] of routes) {
    if (FOREIGN[route.path] === undefined) for (const sentence of inItself(id, route)) broken.add(sentence);
    const parts = route.path.split('/');
    for (const [other, { method, path }] of routes) {
      if (other === id) continue;
      const theirs = path.split('/');
      if (method === route.method && id < other && meet(parts, theirs))
        broken.add(`${id}: a request can fit ${route.path} and ${path} of ${other}`);
      const at = parts.findIndex((part, place) => part !== theirs[place]);
      const [mine, its] = [parts[at], theirs[at]];
      if (mine === undefined || its === undefined || !isParameter(its)) continue;
      if (isParameter(mine)) broken.add(`${id}: ${route.path} and ${path} call the same place ${mine} and ${its}`);
      else if (!(route.method === 'POST' && at === parts.length - 1)) {
        broken.add(`${id}: in ${route.path} the fixed word “${mine}” stands where ${path} has a name`);
      }
    }
    if (
      route.method === 'PUT' &&
      !routes.some(([, one]) => one.method === 'GET' && one.path === route.path && one.editable)
    ) {
      broken.add(`${id}: PUT ${route.path} has no GET that declares what is editable, so edits can be lost`);
    }
  }
  return [...broken];
}
