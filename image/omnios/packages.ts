// Makes the IPS manifests of a release from image/omnios/packages/*.p5m and the tree of files, and what the installer
// reads of them, so that both say the same.
//
//   node packages.ts VERSION RELEASE TREE OUT
//
// OUT/packages/NAME.p5m   for pkgsend publish -d TREE: names, versions, owners, sizes and hashes filled in
// OUT/files               a line for each: TYPE MODE UID GID SHA256 PRESERVE TARGET PATH (`-` for what does not apply), folders
//                         before what is in them; no path has a blank
// OUT/accounts            group NAME GID · user NAME UID GROUP GROUPS
// OUT/needs               the names of the packages of OmniOS that are needed
// OUT/services            the names of ours, those that others need first
//
// A package lists each file; `tree path=P` is everything below P. A file of the tree in no package, one that is not in the
// tree, one in two packages, an unknown owner or package: all are told, and nothing is written.
import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import process from 'node:process';
import { fileURLToPath } from 'node:url';
import { type Action, formatManifest } from './pkgfmt.ts';

/** Of a manifest that is read: an attribute that is repeated has its values joined by blanks. */
interface Source extends Action {
  readonly attributes: Readonly<Record<string, string>>;
  readonly repeated: readonly string[];
}

const ATTRIBUTES: Record<string, readonly string[]> = {
  set: ['name', 'value'],
  dir: ['path'],
  file: ['path', 'mode'],
  tree: ['path', 'mode'],
  link: ['path', 'target'],
  depend: ['type', 'fmri'],
  license: ['license'],
  group: ['groupname', 'gid'],
  user: ['username', 'uid', 'group', 'home-dir', 'login-shell', 'password'],
};

/** What a program begins with. `pkgsend` notes the architecture of each, and `pkglint` then wants the package to name its own. */
const ELF = Buffer.from('\x7fELF', 'latin1');

const RESTARTS = ['svc:/system/manifest-import:default', 'svc:/system/rbac:default'];

/** Those of OmniOS that own files of ours. */
const OWNERS: Readonly<Record<string, number>> = { root: 0 };
const GROUPS: Readonly<Record<string, number>> = { root: 0, bin: 2, sys: 3 };

/** Reads a manifest: one action a line, `#` begins a comment line, a backslash joins lines. */
export function parseManifest(text: string): Source[] {
  const actions: Source[] = [];
  for (const line of text.replace(/\\\n/g, ' ').split('\n')) {
    if (/^\s*(#|$)/.test(line)) continue;
    const words = line.match(/(?:[^\s"]|"[^"]*")+/g) ?? [];
    const [kind = '', ...rest] = words;
    const wanted = ATTRIBUTES[kind];
    if (wanted === undefined) throw new Error(`there is no action “${kind}”: ${line}`);
    if ((line.match(/"/g)?.length ?? 0) % 2 === 1) throw new Error(`a quotation mark is left open: ${line}`);
    const attributes: Record<string, string> = {};
    const repeated: string[] = [];
    let payload: string | null = null;
    for (const word of rest) {
      const at = word.indexOf('=');
      const name = word.slice(0, at);
      const value = word.slice(at + 1).replace(/^"(.*)"$/, '$1');
      if (at > 0 && attributes[name] !== undefined) repeated.push(name);
      if (at > 0) attributes[name] = attributes[name] === undefined ? value : `${attributes[name]} ${value}`;
      else if (payload === null && word === rest[0]) payload = word;
      else throw new Error(`“${word}” is no NAME=VALUE: ${line}`);
    }
    for (const name of wanted) if (!attributes[name]) throw new Error(`${kind} lacks ${name}=: ${line}`);
    actions.push({ kind, payload, attributes, repeated });
  }
  return actions;
}

/** Every file and folder below `path`, a folder before what is in it. */
function below(tree: string, path: string): string[] {
  return readdirSync(join(tree, path), { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const one = path === '' ? entry.name : `${path}/${entry.name}`;
      return entry.isDirectory() ? [one, ...below(tree, one)] : [one];
    });
}

export interface Release {
  readonly manifests: ReadonlyMap<string, string>;
  readonly files: readonly string[];
  readonly accounts: readonly string[];
  readonly needs: readonly string[];
  readonly services: readonly string[];
}

/** `release` is OmniOS' number, as 151054. Throws one Error with all that is wrong. */
export function makeRelease(
  version: string,
  release: string,
  sources: ReadonlyMap<string, string>,
  tree: string,
): Release {
  const wrong: string[] = [];
  const owner = new Map<string, string>();
  const groups = new Map(Object.entries(GROUPS));
  const manifests = new Map<string, string>();
  const lines = new Map<string, string>();
  const accounts: string[] = [];
  const ids = new Map<string, string>();
  const needs = new Set<string>();
  const parsed = [...sources].map(([name, text]) => {
    try {
      return [name, parseManifest(text)] as const;
    } catch (problem) {
      wrong.push(`${name}: ${(problem as Error).message}`);
      return [name, []] as const;
    }
  });
  const ours = new Set(parsed.map(([name]) => fullName(name)));
  for (const [name, actions] of parsed) {
    const say = (what: string) => wrong.push(`${name}: ${what}`);
    const id = (kind: string, number: string, account: string) => {
      if (!(Number(number) >= 500 && Number(number) < 60_000))
        say(`${kind} ${account} has the id ${number}, not one from 500`);
      const other = ids.get(`${kind} ${number}`);
      if (other !== undefined) say(`${kind} ${account} and ${other} have the id ${number}`);
      ids.set(`${kind} ${number}`, account);
    };
    const setting = (what: string, value: string | readonly string[]): Action => ({
      ...{ kind: 'set', payload: null },
      attributes: { name: what, value },
    });
    const out: Action[] = [
      setting('pkg.fmri', `pkg://cistern/${fullName(name)}@${version}-${release}.0`),
      setting('org.opensolaris.consolidation', 'cistern'),
    ];
    /** What SMF will know by the package's manifests: services, and their instances. */
    const provided: string[] = [];
    let programs = false;
    const take = (path: string, action: Pick<Source, 'kind' | 'payload' | 'attributes'>) => {
      if (/\s/.test(path) || path.startsWith('/') || path.includes('..')) say(`the path “${path}” is none`);
      const other = owner.get(path);
      if (other !== undefined) say(`${path} is in ${other} too`);
      owner.set(path, name);
      const { mode = '0755', owner: user = 'root', group = action.kind === 'dir' ? 'bin' : 'bin' } = action.attributes;
      const [uid, gid] = [OWNERS[user], groups.get(group)];
      if (uid === undefined || gid === undefined) say(`${path} belongs to ${user}:${group}, which nobody is`);
      const restart = action.attributes.restart_fmri;
      if (restart !== undefined && !RESTARTS.includes(restart)) say(`${path} restarts ${restart}, which nothing is`);
      if (action.kind === 'link') {
        const target = action.attributes.target ?? '';
        lines.set(path, ['link', '-', '-', '-', '-', '-', target, path].join(' '));
        out.push(action);
        return;
      }
      const found = statSync(join(tree, path), { throwIfNoEntry: false });
      if (action.kind === 'dir') {
        if (found !== undefined && !found.isDirectory()) say(`${path} is no folder`);
        lines.set(path, ['dir', mode, uid, gid, '-', '-', '-', path].join(' '));
        out.push({ ...action, attributes: { path, mode, owner: user, group } });
        return;
      }
      if (!found?.isFile()) return say(`${path} is not in the tree`);
      const content = readFileSync(join(tree, path));
      const hash = createHash('sha256').update(content).digest('hex');
      programs ||= content.subarray(0, 4).equals(ELF);
      if (path.startsWith('lib/svc/manifest/') && path.endsWith('.xml')) {
        const text = content.toString();
        const service = `svc:/${text.match(/<service name="([^"]+)"/)?.[1] ?? ''}`;
        const instances = [...text.matchAll(/<instance name="([^"]+)"/g)].map(([, one]) => one);
        if (text.includes('<create_default_instance ')) instances.push('default');
        provided.push(service, ...instances.map((one) => `${service}:${one}`));
      }
      const { preserve = '-' } = action.attributes;
      lines.set(path, ['file', mode, uid, gid, hash, preserve, '-', path].join(' '));
      const { path: _, mode: __, ...more } = action.attributes;
      out.push({
        kind: 'file',
        payload: path,
        attributes: { path, mode, owner: user, group, 'pkg.size': String(found.size), 'cistern.sha256': hash, ...more },
      });
    };
    if (!actions.some(({ kind, attributes }) => kind === 'set' && attributes.name === 'info.classification'))
      say('it has no info.classification');
    for (const { kind, payload, attributes, repeated } of actions) {
      if (repeated.length > 0) say(`${kind} has ${repeated[0]} twice`);
      const action = { kind, payload, attributes };
      if (kind === 'group') {
        const { groupname = '', gid = '' } = attributes;
        id('group', gid, groupname);
        accounts.push(`group ${groupname} ${gid}`);
        groups.set(groupname, Number(gid));
      } else if (kind === 'user') {
        const { username = '', uid = '', group = '', 'group-list': list = '' } = attributes;
        id('user', uid, username);
        accounts.push(`user ${username} ${uid} ${group} ${list || '-'}`);
      } else if (kind === 'depend') {
        const { fmri = '' } = attributes;
        const needed = fmri.replace(/^pkg:\//, '');
        if (!fmri.startsWith('pkg:/')) say(`${fmri} is no package`);
        else if (!/^cistern(\/|$)/.test(needed)) needs.add(needed);
        else if (!ours.has(needed)) say(`it depends on ${needed}, which is no package of ours`);
        else {
          out.push({ ...action, attributes: { ...attributes, fmri: `${fmri}@${version}-${release}.0` } });
          continue;
        }
      } else if (kind === 'tree') {
        const { path = '', mode = '0444' } = attributes;
        if (!statSync(join(tree, path), { throwIfNoEntry: false })?.isDirectory()) {
          say(`${path} is not in the tree`);
          continue;
        }
        take(path, { kind: 'dir', payload: null, attributes: { path } });
        for (const one of below(tree, path)) {
          if (statSync(join(tree, one)).isDirectory())
            take(one, { kind: 'dir', payload: null, attributes: { path: one } });
          else take(one, { kind: 'file', payload: null, attributes: { path: one, mode } });
        }
        continue;
      } else if (kind === 'dir' || kind === 'file' || kind === 'link') {
        take(attributes.path ?? '', action);
        continue;
      }
      out.push(action);
    }
    if (provided.length > 0) out.push(setting('org.opensolaris.smf.fmri', provided));
    if (programs) out.push(setting('variant.arch', 'i386'));
    manifests.set(name, formatManifest(out));
  }
  for (const [name, text] of sources) {
    for (const { kind, attributes } of wrong.length > 0 ? [] : parseManifest(text)) {
      if (kind !== 'user') continue;
      for (const group of [attributes.group ?? '', ...(attributes['group-list']?.split(',') ?? [])]) {
        if (!groups.has(group)) wrong.push(`${name}: there is no group ${group}`);
      }
    }
  }
  for (const path of below(tree, '')) {
    if (!owner.has(path) && statSync(join(tree, path)).isFile()) wrong.push(`${path} is in no package`);
  }
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  // Groups first: users name them.
  accounts.sort((a, b) => (a < b ? -1 : 1));
  const services = [...owner.keys()]
    .filter((path) => path.startsWith('lib/svc/manifest/') && path.endsWith('.xml'))
    .map((path) => readFileSync(join(tree, path), 'utf8').match(/<service name="([^"]+)"/)?.[1] ?? '')
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
  return {
    manifests,
    files: [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line),
    accounts,
    needs: [...needs].sort(),
    services,
  };
}

const fullName = (name: string) => (name === 'cistern' ? name : `cistern/${name}`);
/** Others need system/cistern; the web server is last, for it shows what is there. */
const rank = (service: string) => (service.startsWith('system/') ? 0 : service.startsWith('network/') ? 2 : 1);

/** The sources by the name of their package. */
export function readSources(folder = join(dirname(fileURLToPath(import.meta.url)), 'packages')): Map<string, string> {
  const names = readdirSync(folder).filter((name) => name.endsWith('.p5m'));
  return new Map(names.sort().map((name) => [basename(name, '.p5m'), readFileSync(join(folder, name), 'utf8')]));
}

if (process.argv[1] !== undefined && relative(process.argv[1], fileURLToPath(import.meta.url)) === '') {
  const [version, release, tree, out] = process.argv.slice(2);
  if (version === undefined || release === undefined || tree === undefined || out === undefined) {
    throw new Error('usage: packages.ts VERSION RELEASE TREE OUT');
  }
  try {
    const made = makeRelease(version, release, readSources(), tree);
    mkdirSync(join(out, 'packages'), { recursive: true });
    for (const [name, text] of made.manifests) writeFileSync(join(out, 'packages', `${name}.p5m`), text);
    for (const name of ['files', 'accounts', 'needs', 'services'] as const) {
      writeFileSync(join(out, name), `${made[name].join('\n')}\n`);
    }
  } catch (problem) {
    process.stderr.write(`packages.ts: ${(problem as Error).message}\n`);
    process.exit(1);
  }
}
