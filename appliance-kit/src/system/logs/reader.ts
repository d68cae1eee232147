// Lines of the logs, as supportd answers them: the newest first, a page at a time.
import type { Peer } from '../../peers/peer.ts';
import type { LogLine, LogPage, LogQuery } from './schema.ts';

/** supportd searches for eight seconds at most. */
const DEADLINE_MS = 15_000;
const PAGE = 1_000;
/** As far as it is looked back from now, in pages. */
const PAGES = 3;

export function queryText(values: Readonly<Record<string, unknown>>): string {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '');
  return given.length === 0
    ? ''
    : `?${new URLSearchParams(Object.fromEntries(given.map(([name, value]) => [name, String(value)])))}`;
}

/** As supportd calls them (docs/api/supportd.md). */
export const logQuery = ({ search, before, ...rest }: { search?: string; before?: string; [name: string]: unknown }) =>
  queryText({ ...rest, text: search, older: before });

export class LogReader {
  readonly #supportd: Peer;

  constructor(supportd: Peer) {
    this.#supportd = supportd;
  }

  /** What supportd answers to a path. */
  ask(path: string): Promise<unknown> {
    return this.#supportd.call({ method: 'GET', path, deadlineMs: DEADLINE_MS });
  }

  async page(asked: LogQuery): Promise<LogPage> {
    const { lines, older, newest } = (await this.ask(`/logs${logQuery(asked)}`)) as {
      lines: LogLine[];
      older: string;
      newest: string;
    };
    return { items: lines, before: older, newest };
  }

  /** The lines between two times in milliseconds, the oldest first; `all`: nothing of that time was out of reach. */
  async between(from: number, to: number, level: LogLine['level']): Promise<{ lines: LogLine[]; all: boolean }> {
    const lines: LogLine[] = [];
    let before = '';
    for (let page = 0; page < PAGES; page++) {
      const found = await this.page({ level, limit: PAGE, ...(before !== '' && { before }) });
      for (const line of found.items) {
        const at = Date.parse(line.time);
        if (at < from) return { lines: lines.reverse(), all: true };
        if (at <= to) lines.push(line);
      }
      before = found.before;
      if (before === '') return { lines: lines.reverse(), all: true };
    }
    return { lines: lines.reverse(), all: false };
  }
}
