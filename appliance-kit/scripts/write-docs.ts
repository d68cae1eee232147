// Writes the tables that are printed from what the domains declare: docs/api/routes.md, docs/api/jobs.md,
// docs/api/errors.md and docs/manual/alerts.md. `--check` says whether they are up to date instead.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import type { AnyAlertClass } from '../src/alerting/catalogue/alert-class.ts';
import { domains } from '../src/appliance.ts';
import { problemKinds } from '../src/base/problems/codes.ts';
import { duration } from '../src/base/words.ts';
import type { AnyDomain } from '../src/domain/in-order.ts';
import type { Access, Route } from '../src/http/routes.ts';
import { MOST_OF_ONE } from '../src/jobs/index.ts';

const HOW =
  '<!-- Printed from the code by `node appliance-kit/scripts/write-docs.ts`; changes are made there, and lost here. -->';

const cell = (text: string) => text.replace(/\|/g, '\\|').replace(/\s+/g, ' ');
const row = (...cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(...head), `| ${head.map(() => '---').join(' | ')} |`, ...rows.map((one) => row(...one))].join('\n');
const byName = (a: AnyDomain, b: AnyDomain) => (a.name < b.name ? -1 : 1);
const all = [...(domains as readonly AnyDomain[])].sort(byName);

const who: Record<Access, string> = {
  anyone: 'anyone',
  setup: 'whoever gave the set-up code',
  session: 'whoever has signed in, by a session only',
  viewer: 'viewer',
  operator: 'operator',
  administrator: 'administrator',
  nginx: 'nginx (not reachable from outside)',
  simulation: 'simulation only',
};

interface Shape {
  readonly $id?: string;
  readonly type?: string;
  readonly items?: Shape;
  readonly properties?: Record<string, Shape>;
}

/** A schema by its name, or by what it is made of. */
function shape(schema: Shape): string {
  if (schema.$id !== undefined) return schema.$id;
  if (schema.type === 'array' && schema.items !== undefined) return `list of ${shape(schema.items)}`;
  const { items, ...others } = schema.properties ?? {};
  if (items?.items !== undefined && Object.keys(others).length === 0) return `list of ${shape(items.items)}`;
  const names = Object.keys(schema.properties ?? {});
  return names.length > 0 ? `{ ${names.join(', ')} }` : (schema.type ?? 'any JSON');
}

function answer({ answer: { status, schema, stream } }: Route): string {
  if (stream !== undefined) return `${status} ${Object.keys(stream)}`;
  return schema === null ? `${status}, nothing` : `${status} ${shape(schema as Shape)}`;
}

function routesPage(): string {
  const sections = all.flatMap(({ name, routes }) => {
    const declared = Object.entries((routes ?? {}) as Record<string, Route>);
    if (declared.length === 0) return [];
    const rows = declared.map(([id, route]) => [
      `\`${route.method}\``,
      `\`${route.path}\``,
      who[route.access],
      route.summary,
      answer(route),
      `\`${id}\``,
    ]);
    return [`## ${name}\n\n${table(['method', 'path', 'who may', 'what it does', 'answers', 'operation'], rows)}`];
  });
  return `${HOW}

# Routes

Every route of the management API, by the domain that answers it. A role includes those below it: an administrator may
do what an operator may, an operator what a viewer may. What a request takes in detail is in
[\`appliance-kit/openapi.json\`](../../appliance-kit/openapi.json); how errors are answered in [errors.md](errors.md).

${sections.join('\n\n')}
`;
}

function jobsPage(): string {
  const kinds = all.flatMap(({ name, jobKinds = {} }) =>
    Object.entries(jobKinds).map(([kind, about]) => [`\`${kind}\``, about, name]),
  );
  const topics = all.flatMap(({ name, topics = [] }) => topics.map((topic) => [`\`${topic}\``, name]));
  return `${HOW}

# Jobs and live updates

What takes long is answered with 202 and a job (\`GET /api/jobs/{id}\`), of one of these kinds.
Each caller (a user, a token) may have ${MOST_OF_ONE} of them under way at a time; what is more is refused with 429 \`too_many\` before anything of it is done. What the
appliance does by a schedule does not count. None waits for others: it begins at once.

${table(['kind', 'what it does', 'domain'], kinds)}

\`GET /api/events\` is a stream of server-sent events. Each \`change\` names a topic, and what of it changed when that is
one thing: the client reads it again. It carries no values, because what a client may see is decided where it reads.

${table(['topic', 'domain'], topics)}
`;
}

function errorsPage(): string {
  const rows = Object.entries(problemKinds)
    .sort(([, a], [, b]) => a.status - b.status)
    .map(([code, { status, title, meaning, remedy }]) => [`\`${code}\``, String(status), title, meaning, remedy]);
  return `${HOW}

# Errors

Every error is a problem document (RFC 9457, \`application/problem+json\`): \`status\`, \`code\`, \`title\`, \`detail\` (what was
tried, on what, and what went wrong), mostly \`action\` (what the reader can do), and for fields \`errors\`. Codes are
stable; scripts compare them, not the words.

${table(['code', 'HTTP', 'title', 'when', 'what to do'], rows)}
`;
}

/** Classes that explain it, by their names. */
const causes = (one: AnyAlertClass): string[] => [
  ...new Set(one.dependsOn(one.example).map((key: string) => `\`${key.split('/', 1)[0]}\``)),
];

function notRaised(one: AnyAlertClass): string {
  const explained = causes(one);
  const parts = [
    ...(explained.length > 0
      ? [`While ${explained.join(' or ')} of the same thing is active, which explains it.`]
      : []),
    ...(one.visibleAfterSeconds > 0
      ? [`Before it has lasted ${duration(one.visibleAfterSeconds)}: shorter trouble mends itself.`]
      : []),
    one.transient
      ? 'A second time for the same event: it is an event in the log, and never active.'
      : 'A second time while it is active.',
    ...(one.optional ? ['Until somebody switches the class on (*Alerts → Catalogue*, “Where it goes”).'] : []),
    ...(one.muted && !one.optional
      ? ['It is sent to nobody unless somebody has chosen destinations for the class.']
      : []),
  ];
  return parts.join(' ');
}

function alertsPage(): string {
  const sections = all.flatMap(({ name, alertClasses = [] }) =>
    alertClasses.length === 0
      ? []
      : [
          `## ${name}`,
          ...alertClasses.map((one) => {
            const given = one.example;
            const severities = one.severities ?? [one.severity(given)];
            return `### ${one.class}

${table(
  ['', ''],
  [
    ['severity', severities.join(', ')],
    ['as', `“${one.title(given)}” – ${one.text(given)}`],
    ['what it means', one.impact(given)],
    ['what the appliance does', one.response(given)],
    ['what to do', one.action(given)],
    ['not raised', notRaised(one)],
    ['page', `\`${one.page(given)}\``],
  ],
)}`;
          }),
        ],
  );
  return `${HOW}

# Alerts

Every class of alert that the appliance can raise, by the domain that raises it, each with an example of what it says.
A class is the name that rules, silences, filters and traps compare; it does not change.

${sections.join('\n\n')}
`;
}

const pages = {
  'docs/api/routes.md': routesPage(),
  'docs/api/jobs.md': jobsPage(),
  'docs/api/errors.md': errorsPage(),
  'docs/manual/alerts.md': alertsPage(),
};

let stale = false;
for (const [name, text] of Object.entries(pages)) {
  const file = fileURLToPath(new URL(`../../${name}`, import.meta.url));
  if (!process.argv.includes('--check')) {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    continue;
  }
  let found = '';
  try {
    found = readFileSync(file, 'utf8');
  } catch {
    // Missing is as good as out of date.
  }
  if (found === text) continue;
  stale = true;
  console.error(`${name} is out of date: run \`node appliance-kit/scripts/write-docs.ts\``);
}
if (stale) process.exit(1);
