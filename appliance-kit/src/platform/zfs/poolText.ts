// What zpool prints as text on both operating systems: importable pools, history, the list of damaged files.
import { fail } from '../../base/problems/problem.ts';
import type { HistoryLine, Importable } from '../poolActions.ts';

/** A paragraph of `zpool import`: "   status: …" goes on in lines that begin with a tab. */
function paragraphs(lines: readonly string[]): Map<string, string> {
  const found = new Map<string, string>();
  let current = '';
  for (const line of lines) {
    const field = /^ *(pool|id|state|status|action|comment|see): ?(.*)$/.exec(line);
    if (field?.[1] !== undefined) {
      current = field[1];
      found.set(current, field[2] ?? '');
    } else if (/^\t\S/.test(line) && current !== '' && current !== 'config') {
      found.set(current, `${found.get(current)} ${line.trim()}`);
    } else if (/^config:/.test(line.trim()) || line.trim() === '') {
      current = 'config';
    }
  }
  return found;
}

/** `zpool import` without a name: what there is, one after the other. */
export function parseImportable(listing: string): Importable[] {
  // Each begins with a line "   pool: NAME".
  const blocks = listing.split(/^(?= {2,}pool: )/m).filter((block) => /^ {2,}pool: /.test(block));
  return blocks.map((block) => {
    const lines = block.split('\n');
    const fields = paragraphs(lines);
    const state = fields.get('state') ?? 'UNAVAIL';
    const status = fields.get('status') ?? null;
    // The tree begins after "config:" with the pool's own line.
    const at = lines.findIndex((line) => line.trim() === 'config:');
    const tree = at < 0 ? [] : lines.slice(at + 1).filter((line) => /^\t/.test(line));
    const devices = tree.slice(1).flatMap((line) => {
      const found = /^\t( *)(\S+)(?: +([A-Z]+))?/.exec(line);
      return found?.[2] === undefined
        ? []
        : [{ name: found[2], state: found[3] ?? '', depth: (found[1] as string).length / 2 }];
    });
    return {
      name: fields.get('pool') ?? '',
      guid: fields.get('id') ?? '',
      state: state.split(' ')[0] as string,
      status,
      action: fields.get('action') ?? null,
      inUseElsewhere: /last accessed by another system|in use from other system|currently imported/i.test(
        `${status} ${state}`,
      ),
      devices,
    };
  });
}

/** `zpool history -l`: "2026-01-01.02:03:04 zpool scrub tank [user 0 (root) on metrics1:linux]", in UTC. */
export function parseHistory(output: string): HistoryLine[] {
  return output.split('\n').flatMap((line): HistoryLine[] => {
    const found = /^(\d{4}-\d{2}-\d{2})\.(\d{2}:\d{2}:\d{2}) (.*?)(?: \[(.*)\])?$/.exec(line);
    if (found === null) return [];
    const [, date, clock, text, tail] = found;
    const time = Date.parse(`${date}T${clock}Z`);
    const who = /^user \d+ \((.*?)\) on ([^:\]]+)/.exec(tail ?? '');
    return Number.isNaN(time) ? [] : [{ time, text: text ?? '', by: who === null ? null : `${who[1]} on ${who[2]}` }];
  });
}

/**
 * The end of `zpool status -v`: a name a line, indented. illumos gives the list only to a process with every privilege; to any
 * other it says so, and ends without an error.
 */
export function parseDamagedFiles(status: string, pool: string): string[] {
  if (/^errors: List of errors unavailable/m.test(status)) {
    throw fail(
      'command_failed',
      `The names of the damaged files on “${pool}” are not available: ZFS gives them here only to a process with every privilege, which no service of the appliance has.`,
      `Log in and run as root: zpool status -v ${pool}`,
    );
  }
  const at = status.search(/^errors: Permanent errors have been detected/m);
  if (at < 0) return [];
  return status
    .slice(at)
    .split('\n')
    .slice(1)
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
