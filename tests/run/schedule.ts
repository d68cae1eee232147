// Runs jobs in the order of what they need and of their priority, as many at a time as there are slots.
import { type Ended, type Job, runJob } from './job.ts';

export interface ScheduleOptions {
  readonly slots: number;
  readonly started?: (job: Job) => void;
  readonly ended?: (ended: Ended) => void;
  readonly run?: (job: Job) => Promise<Ended>;
}

export const succeeded = ({ code, trouble }: Ended) => code === 0 && trouble === '';

export async function schedule(jobs: readonly Job[], options: ScheduleOptions): Promise<Ended[]> {
  const run = options.run ?? runJob;
  const names = new Set(jobs.map(({ name }) => name));
  const waiting = [...jobs].sort((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
  const running = new Map<Job, Promise<void>>();
  const done = new Map<string, Ended>();
  const end = (ended: Ended) => {
    done.set(ended.job.name, ended);
    options.ended?.(ended);
  };
  const takes = (job: Job) => Math.min(job.slots ?? 1, options.slots);
  for (;;) {
    let free = options.slots - [...running.keys()].reduce((sum, job) => sum + takes(job), 0);
    for (const job of [...waiting]) {
      // What is not part of this run is there already.
      const needs = (job.after ?? []).filter((name) => names.has(name));
      const failed = needs.find((name) => {
        const ended = done.get(name);
        return ended && !succeeded(ended);
      });
      if (failed) {
        waiting.splice(waiting.indexOf(job), 1);
        const trouble = `not started: “${failed}” failed`;
        end({ job, code: null, trouble, began: Date.now(), seconds: 0, cpuSeconds: 0 });
        continue;
      }
      if (takes(job) > free || needs.some((name) => !done.has(name))) continue;
      const share = (other: Job) => other.share ?? 1;
      const beside = [...running.keys()].filter((other) => other.alone === job.alone);
      const together = beside.reduce((sum, other) => sum + share(other), share(job));
      if (job.alone && beside.length > 0 && together > 1) {
        const only = [...waiting, ...running.keys()].every(
          (other) => other.alone === job.alone || (other.slots ?? 1) < 1,
        );
        const pairs = [job, ...beside].every(({ pairsAtTheEnd }) => pairsAtTheEnd) && together <= 2;
        if (!(only && pairs)) continue;
      }
      waiting.splice(waiting.indexOf(job), 1);
      free -= takes(job);
      options.started?.(job);
      running.set(
        job,
        run(job).then((ended) => {
          running.delete(job);
          end(ended);
        }),
      );
    }
    if (running.size === 0) {
      if (waiting.length === 0) return [...done.values()];
      // A job that failed has just freed what comes after it, or they wait for each other.
      if (waiting.every((job) => (job.after ?? []).every((name) => !names.has(name) || done.has(name)))) continue;
      if (
        waiting.some((job) => (job.after ?? []).some((name) => done.has(name) && !succeeded(done.get(name) as Ended)))
      )
        continue;
      throw new Error(`these wait for each other: ${waiting.map(({ name }) => name).join(', ')}`);
    }
    await Promise.race(running.values());
  }
}
