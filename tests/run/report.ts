// What a run prints: a line as each job ends; at the end the times, the slowest tests, and last of all what failed, with
// its output and the command that repeats it, before the line of the counts.
import path from 'node:path';
import { type Ended, fileOf, root } from './job.ts';
import { budgets } from './plan.ts';
import type { Result } from './results.ts';
import { succeeded } from './schedule.ts';

export const clock = (at = new Date()) => at.toTimeString().slice(0, 8);
const minutes = (seconds: number) => (seconds / 60).toFixed(1);

const count = (results: readonly Result[], outcome: Result['outcome']) =>
  results.filter((result) => result.outcome === outcome).length;

export function counts(results: readonly Result[]): string {
  const skipped = count(results, 'skipped');
  return `${count(results, 'passed')} passed, ${count(results, 'failed')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

export function jobLine(ended: Ended, results: readonly Result[]): string {
  const { job, seconds, cpuSeconds, trouble } = ended;
  const good = succeeded(ended) && count(results, 'failed') === 0;
  const tests = job.format === 'go' || job.format === 'node' ? `, ${counts(results)}` : '';
  const spent = `${seconds.toFixed(1)} s, ${cpuSeconds.toFixed(1)} s of processor`;
  return `${clock()}  ${good ? 'ok    ' : 'FAILED'}  ${job.name}  (${spent}${tests})${trouble ? `: ${trouble}` : ''}`;
}

/** Each part's time beside its budget: of its jobs one after the other, and how long it was from the first to the last. */
export function partTable(all: readonly Ended[]): string[] {
  const rows = [['part', 'minutes', 'budget', 'processor', 'from … to', '']];
  const start = Math.min(...all.map(({ began }) => began));
  for (const part of [...new Set(all.map(({ job }) => job.part))]) {
    const own = all.filter(({ job, seconds }) => job.part === part && seconds > 0);
    if (own.length === 0) continue;
    const sum = own.reduce((total, { seconds }) => total + seconds, 0);
    const cpu = own.reduce((total, { cpuSeconds }) => total + cpuSeconds, 0);
    const from = Math.min(...own.map(({ began }) => began)) - start;
    const to = Math.max(...own.map(({ began, seconds }) => began + seconds * 1000)) - start;
    const budget = budgets[part];
    rows.push([
      ...[part, minutes(sum), budget === undefined ? '–' : String(budget), minutes(cpu)],
      `${minutes(from / 1000)} … ${minutes(to / 1000)}`,
      budget !== undefined && sum > budget * 60 ? 'over its budget' : '',
    ]);
  }
  const widths = rows[0]?.map((_, at) => Math.max(...rows.map((row) => (row[at] as string).length))) ?? [];
  return rows.map((row) =>
    row
      .map((cell, at) =>
        at === 0 || at === 5 ? cell.padEnd(widths[at] as number) : cell.padStart(widths[at] as number),
      )
      .join('   ')
      .trimEnd(),
  );
}

export function slowest(results: readonly Result[], many = 10): string[] {
  return [...results]
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, many)
    .map(({ seconds, part, name }) => `${seconds.toFixed(1).padStart(7)} s  ${part}: ${name}`);
}

export function failures(all: readonly { ended: Ended; results: readonly Result[] }[]): string[] {
  const lines: string[] = [];
  for (const { ended, results } of all) {
    for (const result of results) {
      if (result.outcome === 'passed') continue;
      if (result.outcome === 'skipped') {
        lines.push('', `SKIPPED  ${result.part}: ${result.name}`, `    ${result.output.trim().split('\n').at(-1)}`);
        continue;
      }
      lines.push('', `FAILED  ${result.part}: ${result.name}`);
      lines.push(...result.output.split('\n').map((line) => `    ${line}`));
      lines.push(`    log: ${path.relative(root, fileOf(ended.job, 'log'))}`, `    repeat: ${result.repeat}`);
    }
  }
  return lines;
}
