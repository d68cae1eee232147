// Statistics on the booted image, under real load: every D program compiles and runs there, disk operations agree with
// the kernel's own counters, requests are counted by who asked for what, and a tracer that is killed leaves a gap.
// tracerd is asked at its own socket, the store by the API; the pages have their own tests.
import assert from 'node:assert/strict';
import https from 'node:https';
import { type TestContext, test } from 'node:test';
import tls from 'node:tls';
import type { Person } from '../stack/api.ts';
import type { Machine } from './machine.ts';
import { rowOf, wantsVariant } from './row.ts';
import { readyMachine } from './saved.ts';
import { until } from './until.ts';

interface Dataset {
  name: string;
  state: string;
  since: string;
  reason: string | null;
  restarts: number;
  samples: number;
  drops: number;
  cpuRatio: number;
}
interface Statistic {
  name: string;
  source: string;
  available: boolean;
  breakdowns: { name: string; kind: string; filterable: boolean; values: string[] }[];
}

/** tracerd, as its one client asks it. */
class Tracerd {
  readonly #url: string;
  constructor(port: number) {
    this.#url = `http://127.0.0.1:${port}`;
  }
  async ask<T>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await fetch(this.#url + path, {
      method,
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await reply.text();
    if (!reply.ok) throw new Error(`${method} ${path}: ${reply.status} ${text}`);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  }
  watch(name: string) {
    return this.ask<Dataset>('POST', '/v1/dataset/watch', { name });
  }
  get(name: string) {
    return this.ask<Dataset>('GET', `/v1/dataset?name=${encodeURIComponent(name)}`);
  }
  record(name: string) {
    return this.ask<Dataset>('POST', '/v1/dataset/record', { name, recording: true });
  }
  destroy(name: string) {
    return this.ask('DELETE', `/v1/dataset?name=${encodeURIComponent(name)}`);
  }
}

/** Values for filters: those that every machine has, and one that no program could be named without being careful. */
function example(breakdown: { name: string; values: string[] }): string {
  const known: Record<string, string> = {
    client: '10.0.2.2',
    port: '443',
    user: 'root',
    error: 'ENOENT',
    cpu: '0',
    call: 'read',
  };
  return breakdown.values[0] ?? known[breakdown.name] ?? '"a\\"b]\\xff\\n$1"';
}

/** Each way to split a traced statistic, or the first one, and all of its filters together. */
function everyDataset(statistics: readonly Statistic[], each: boolean): string[] {
  return statistics.flatMap(({ name, breakdowns }) => {
    const split = breakdowns
      .filter(({ kind }) => kind !== 'filter')
      .slice(0, each ? Infinity : 1)
      .map((b) => `${name}[${b.name}]`);
    const filters = breakdowns.filter(({ filterable }) => filterable);
    return [...(split.length ? split : [name]), name + filters.map((b) => `[${b.name}=${example(b)}]`).join('')];
  });
}

const query = async (api: Person, expression: string, time?: number) => {
  const at = time === undefined ? '' : `&time=${time}`;
  const path = `/api/v1/query?query=${encodeURIComponent(expression)}${at}`;
  type Answer = { data: { result: { metric: Record<string, string>; value: [number, string] }[] } };
  return (await api.get<Answer>('GET', path)).data.result;
};

/** What /proc/diskstats has counted of each disk: operations, and the milliseconds that they took. */
async function diskstats(machine: Machine): Promise<Map<string, { operations: number; seconds: number }>> {
  const found = new Map<string, { operations: number; seconds: number }>();
  for (const line of (await machine.sh('cat /proc/diskstats')).split('\n')) {
    const f = line.trim().split(/\s+/);
    if (/^sd[a-z]$/.test(f[2] ?? ''))
      found.set(f[2] as string, {
        operations: Number(f[3]) + Number(f[7]) + Number(f[14]),
        seconds: (Number(f[6]) + Number(f[10]) + Number(f[17])) / 1000,
      });
  }
  return found;
}

const sleep = (seconds: number) => new Promise((resolve) => setTimeout(resolve, seconds * 1000));

const guestTime = async (machine: Machine) => Number(await machine.sh('date +%s.%N'));

/** The status of what the web server answers. */
function fetchOf(port: number, path: string, headers: Record<string, string>): Promise<number> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, rejectUnauthorized: false, agent: false };
    https
      .get(options, (response) => {
        response.resume().on('end', () => resolve(response.statusCode ?? 0));
      })
      .on('error', reject);
  });
}

async function analyticsOf(t: TestContext, machine: Machine, api: Person): Promise<void> {
  const step = rowOf(t, () => ({ machine }));
  const tracerd = new Tracerd(await machine.forward('/run/cistern/tracerd/http.sock'));
  const recorded = ['io.ops[disk]', 'io.ops[latency]', 'io.ops', 'dataset.bytes[filesystem]'];

  await step('idle it needs little: memory, and a processor for what is always on', async () => {
    await until('it records', 60, async () => (await tracerd.get('cpu.utilization[mode]')).state === 'recording');
    const used = async () => Number(await machine.sh("awk '{print ($14+$15)/100}' /proc/$(pgrep -ox tracerd)/stat"));
    const before = await used();
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    const share = ((await used()) - before) / 20;
    const memory = Number(await machine.sh("awk '/VmRSS/ {print $2}' /proc/$(pgrep -ox tracerd)/status")) / 1024;
    const how = machine.accelerated ? '' : ' (emulated)';
    t.diagnostic(`tracerd idle: ${memory.toFixed(1)} MiB, ${(share * 100).toFixed(1)} % of a processor${how}`);
    assert.ok(memory < 30, `${memory} MiB`);
    if (machine.accelerated) assert.ok(share < 0.02, `${share} of a processor`);
  });

  await step(
    'the D program of every traced statistic compiles and runs, however it is split and narrowed',
    async () => {
      const { items } = await tracerd.ask<{ items: Statistic[] }>('GET', '/v1/statistics');
      const traced = items.filter(({ source }) => source === 'dtrace');
      assert.ok(traced.length >= 9);
      assert.deepEqual(
        traced.filter(({ available }) => !available),
        [],
      );
      const names = everyDataset(traced, wantsVariant('every way to split a traced statistic'));
      for (let at = 0; at < names.length; at += 15) {
        const batch = names.slice(at, at + 15);
        const began = Date.now();
        const done = await until(
          `${batch.join(' ')} are traced`,
          180,
          async () => {
            const all = await Promise.all(batch.map((name) => tracerd.watch(name)));
            return all.every(({ state }) => state !== 'starting') && all;
          },
          2000,
        );
        for (const { name, state, reason } of done) assert.equal(state, 'recording', `${name}: ${reason}`);
        t.diagnostic(
          `${batch.length} datasets were traced ${((Date.now() - began) / 1000).toFixed(0)} s after they were asked for`,
        );
        if (batch.includes('cpu.profile')) {
          const stacks = await until('there are stacks', 120, async () => {
            await tracerd.watch('cpu.profile');
            const found = await tracerd.ask<{ samples: number; stacks: { frames: string[] }[] }>(
              'GET',
              '/v1/stacks?name=cpu.profile',
            );
            return found.samples > 10 && found;
          });
          assert.ok(stacks.stacks.some(({ frames }) => frames.some((frame) => frame.includes('vmlinux`'))));
        }
        for (const name of batch) await tracerd.destroy(name);
      }
    },
  );

  await step(
    'dd on a pool: bytes by dataset, operations by disk and their latencies are those of the kernel',
    async () => {
      for (const name of recorded) await tracerd.record(name);
      await until(
        'the disks are traced',
        120,
        async () =>
          (await Promise.all(recorded.map((name) => tracerd.get(name)))).every(({ state }) => state === 'recording'),
        1000,
      );
      // The load lies well within the time that is compared, so that a second's label may be a second off (dtrace is woken
      // late on a busy machine). At both ends is what the machine does by itself: of each disk, three seconds of it may be in
      // one count and not in the other.
      const quiet = 6;
      const alone = await diskstats(machine);
      const aloneFrom = await guestTime(machine);
      await sleep(quiet);
      const before = await diskstats(machine);
      const from = await guestTime(machine);
      const edges = new Map<string, { operations: number; seconds: number }>();
      for (const [disk, { operations, seconds: time }] of before) {
        const there = alone.get(disk) ?? { operations: 0, seconds: 0 };
        edges.set(disk, {
          operations: (3 * (operations - there.operations)) / (from - aloneFrom),
          seconds: (3 * (time - there.seconds)) / (from - aloneFrom),
        });
      }
      await sleep(quiet);
      await machine.sh('zfs create -o compression=off -o recordsize=128k -o mountpoint=/srv/load tank/load');
      await machine.sh('dd if=/dev/urandom of=/srv/load/file bs=1M count=150 conv=fsync status=none; zpool sync tank');
      await machine.sh('echo 3 >/proc/sys/vm/drop_caches; zpool sync tank');
      await sleep(quiet);
      const after = await diskstats(machine);
      const to = await guestTime(machine);
      await until('the seconds are stored', 30, async () => {
        const [last] = await query(api, 'timestamp(cistern_io_ops{dataset="io.ops"})');
        return last !== undefined && Number(last.value[1]) > to + 2;
      });
      const [first, end] = [Math.floor(from), Math.ceil(to)];
      const counted = new Map(
        (await query(api, `sum_over_time(cistern_io_ops{dataset="io.ops[disk]"}[${end - first}s])`, end)).map(
          ({ metric, value }) => [metric.disk ?? 'all', Number(value[1])],
        ),
      );
      // Of the dataset nothing else writes, and each byte is counted once.
      // On a machine that is busy they are read up to half a minute later.
      await until('all bytes of the dataset are counted', 90, async () => {
        const now = Math.ceil(await guestTime(machine));
        const [written] = await query(
          api,
          `sum_over_time(cistern_dataset_bytes{dataset="dataset.bytes[filesystem]", filesystem="tank/load"}[${now - first}s])`,
          now,
        );
        const bytes = Number(written?.value[1] ?? 0);
        assert.ok(bytes <= 150 * 2 ** 20, `${bytes} bytes`);
        return bytes === 150 * 2 ** 20;
      });
      const [all, edge] = [
        { operations: 0, seconds: 0 },
        { operations: 0, seconds: 0 },
      ];
      for (const [disk, { operations, seconds: time }] of after) {
        const there = operations - (before.get(disk)?.operations ?? 0);
        const own = edges.get(disk) ?? { operations: 0, seconds: 0 };
        all.operations += there;
        all.seconds += time - (before.get(disk)?.seconds ?? 0);
        edge.operations += own.operations;
        edge.seconds += own.seconds;
        // The system's own disk works before and after as well; of it there is too little.
        if (there < 600) continue;
        const traced = counted.get(disk) ?? 0;
        t.diagnostic(`${disk}: ${traced} operations traced, ${there} counted by the kernel`);
        assert.ok(
          Math.abs(traced - there) <= 0.05 * there + own.operations,
          `${disk}: ${traced} traced, ${there} counted`,
        );
      }
      assert.ok(all.operations > 2000, `${all.operations} operations`);
      t.diagnostic(`of itself the machine does ${(edge.operations / 3).toFixed(0)} operations a second`);
      const near = (traced: number) => Math.abs(traced - all.operations) <= 0.05 * all.operations + edge.operations;
      assert.ok(near(counted.get('all') ?? 0), `${counted.get('all')} of ${all.operations}`);
      const range = `query=${encodeURIComponent('cistern_io_ops{dataset="io.ops[latency]"}')}&start=${first}&end=${end}`;
      const latency = await api.get<{ count: number; sum: number }>('GET', `/api/v1/histogram/distribution?${range}`);
      t.diagnostic(
        `latency: ${latency.count} operations, ${latency.sum.toFixed(2)} s; the kernel: ${all.operations}, ${all.seconds.toFixed(2)} s`,
      );
      assert.ok(near(latency.count), `${latency.count} of ${all.operations}`);
      assert.ok(
        Math.abs(latency.sum - all.seconds) <= 0.05 * all.seconds + edge.seconds + 0.1,
        `${latency.sum} s of ${all.seconds} s`,
      );
      const traced = await tracerd.get('io.ops[disk]');
      t.diagnostic(`io.ops[disk]: ${(traced.cpuRatio * 100).toFixed(1)} % of a processor, ${traced.drops} drops`);
    },
  );

  await step(
    'a slow disk is a line of its own in the heatmap; drilling down finds it, and who waits for it',
    async () => {
      const names = (await machine.sh('lsblk -ndo NAME,SERIAL')).split('\n').map((line) => line.trim().split(/\s+/));
      const slow = names.find(([, serial]) => serial === 'DATA2')?.[0] as string;
      const others = names.filter(([, serial]) => /^DATA[013]$/.test(serial ?? '')).map(([name]) => name as string);
      const narrowed = [`io.ops[disk=${slow}][latency]`, `io.ops[disk=${slow}][process]`];
      for (const name of narrowed) await tracerd.record(name);
      await until(
        'it is traced',
        180,
        async () =>
          (await Promise.all(narrowed.map((name) => tracerd.get(name)))).every(({ state }) => state === 'recording'),
        1000,
      );
      // It takes a tenth of a second for each operation. Past ZFS, whose own threads do most of its reading and writing.
      await machine.throttle('DATA2', 10);
      try {
        const from = await guestTime(machine);
        await machine.sh(`timeout 25 dd if=/dev/${slow} of=/dev/null bs=128k iflag=direct status=none; true`);
        const to = await guestTime(machine);
        await until('the seconds are stored', 30, async () => {
          const [last] = await query(api, 'timestamp(cistern_io_ops{dataset="io.ops"})');
          return last !== undefined && Number(last.value[1]) > to + 2;
        });
        const [begin, end] = [Math.ceil(from) + 3, Math.floor(to) - 2];
        const window = `&start=${begin}&end=${end}`;
        const distribution = (selector: string) =>
          api.get<{ count: number; min: number; max: number; bins: [number, number, number][] }>(
            'GET',
            `/api/v1/histogram/distribution?query=${encodeURIComponent(selector)}${window}`,
          );
        // The heatmap of utilization: in each second one mark near the top, and nothing between it and the others.
        const busy = await distribution('cistern_disk_utilization{dataset="disk.utilization[utilization]"}');
        const at = (low: number, high: number) =>
          busy.bins.reduce((sum, [lower, , count]) => sum + (lower >= low && lower < high ? count : 0), 0);
        t.diagnostic(`utilization in ${end - begin} s: ${JSON.stringify(busy.bins)}`);
        assert.ok(at(50, 1000) >= 0.6 * (end - begin), 'the slow disk is busy nearly all the time');
        assert.ok(at(50, 1000) <= 1.2 * (end - begin), 'and it alone');
        const means = await query(
          api,
          `avg_over_time(cistern_disk_utilization{dataset="disk.utilization[disk]"}[${end - begin}s])`,
          end,
        );
        const mean = new Map(means.map(({ metric, value }) => [metric.disk, Number(value[1])]));
        for (const other of others) {
          assert.ok(
            (mean.get(slow) ?? 0) > 2 * (mean.get(other) ?? 0),
            `${slow} and ${other}: ${JSON.stringify([...mean])}`,
          );
        }
        // Drilled down: its operations are slow, and it is dd that waits.
        const latency = await distribution(`cistern_io_ops{dataset="${narrowed[0]}"}`);
        t.diagnostic(`latency of ${slow}: ${latency.count} operations, ${latency.min} to ${latency.max} s`);
        assert.ok(latency.max >= 0.04, `${latency.max} s`);
        const waiting = await query(
          api,
          `topk(3, sum_over_time(cistern_io_ops{dataset="${narrowed[1]}",process!=""}[${end - begin}s]))`,
          end,
        );
        t.diagnostic(`of ${slow}: ${JSON.stringify(waiting.map(({ metric, value }) => [metric.process, value[1]]))}`);
        // The file system's own threads use it as well.
        const share = (process: string) =>
          Number(waiting.find(({ metric }) => metric.process === process)?.value[1] ?? 0) / latency.count;
        assert.ok(share('dd') > 0.15, JSON.stringify(waiting));
      } finally {
        await machine.throttle('DATA2', 0);
      }
      for (const name of narrowed) await tracerd.destroy(name);
    },
  );

  await step('aggregations that are cut back once a minute count neither twice nor less', async () => {
    const { since } = await tracerd.get('io.ops[disk]');
    const end = new Date(since).getTime() / 1000 + 80;
    await until('a minute has passed', 120, async () => (await guestTime(machine)) > end + 3, 1000);
    const sums = await query(
      api,
      'sum_over_time(cistern_io_ops{dataset=~"io.ops(.disk.)?",disk=""}[70s])',
      Math.floor(end),
    );
    assert.equal(sums.length, 2);
    const [one, other] = sums.map(({ value }) => Number(value[1])) as [number, number];
    assert.ok(Math.abs(one - other) <= 0.05 * Math.max(one, other), JSON.stringify(sums));
  });

  await step('requests are counted by client and URI, whatever bytes are in it', async () => {
    const names = ['http.requests[uri]', 'http.requests[client]', 'http.requests[status=404][uri]'];
    for (const name of names) await tracerd.watch(name);
    await until('the log is read', 20, async () => (await tracerd.watch(names[0] as string)).state === 'recording');
    for (let i = 0; i < 20; i++) await api.ask('GET', `/analytics-test?n=${i}`);
    await new Promise<void>((resolve, reject) => {
      const socket = tls.connect({ host: '127.0.0.1', port: machine.ports.https, rejectUnauthorized: false }, () =>
        socket.write(
          Buffer.from('GET /odd"\xff\\x HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n', 'latin1'),
        ),
      );
      socket
        .on('error', reject)
        .on('close', () => resolve())
        .resume();
    });
    const sums = async (expression: string, label: string) =>
      new Map((await query(api, expression)).map(({ metric, value }) => [metric[label] ?? 'all', Number(value[1])]));
    const uris = await until('they are stored', 30, async () => {
      for (const name of names) await tracerd.watch(name);
      const found = await sums('sum_over_time(cistern_http_requests{dataset="http.requests[uri]"}[2m])', 'uri');
      return found.has('/odd"\\xff\\\\x') && (found.get('/analytics-test') ?? 0) >= 20 && found;
    });
    assert.equal(uris.get('/analytics-test'), 20);
    assert.equal(uris.get('/odd"\\xff\\\\x'), 1);
    const clients = await sums('sum_over_time(cistern_http_requests{dataset="http.requests[client]"}[2m])', 'client');
    assert.ok((clients.get('10.0.2.2') ?? 0) >= 21, JSON.stringify([...clients]));
  });

  await step('the web server’s own probes: a D program sees who asks for what, and how it ended', async () => {
    // Strings that are not text, one that is cut, an address that a client pretends to forward.
    const program = `
#pragma D option quiet
BEGIN { printf("ready\\n"); }
http*:::request-start { printf("start %s %s\\n", xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_method,
  xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_uri); }
http*:::request-done { printf("done %s %d %d %d %d %s %s %s\\n", xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_uri,
  xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_status, xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_bytesread,
  xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_byteswritten, xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_latency,
  xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_useragent, xlate <http_reqinfo_t *>((httpproto_t *)arg0)->hri_fwdfor,
  xlate <conninfo_t *>((httpproto_t *)arg0)->ci_remote); }
`;
    await machine.sh(`cat >/run/probe.d <<'EOF'\n${program}EOF`);
    await machine.sh('systemd-run --quiet --unit probes sh -c "exec dtrace -s /run/probe.d >/run/probe.out 2>&1"');
    const seen = () => machine.sh('cat /run/probe.out');
    await until(
      'dtrace is ready',
      120,
      async () => {
        const said = await seen();
        if (said.startsWith('dtrace:')) throw new Error(said);
        return said.includes('ready');
      },
      1000,
    );
    const long = `/long/${'x'.repeat(400)}`;
    const headers = { 'user-agent': 'tester/1', 'x-forwarded-for': '192.0.2.7' };
    for (const path of ['/probe-me?secret=1', long, '/api/nothing']) {
      const reply = await fetchOf(machine.ports.https, path, headers);
      assert.ok(reply > 0);
    }
    const lines = await until('all are seen', 60, async () => {
      const found = (await seen()).split('\n');
      return found.filter((line) => line.startsWith('done ')).length >= 3 && found;
    });
    await machine.sh('systemctl stop probes');
    assert.ok(lines.includes('start GET /probe-me'), lines.join('\n'));
    const done = lines.find((line) => line.startsWith('done /probe-me '))?.split(' ') ?? [];
    const [status, read, written, latency] = done.slice(2, 6).map(Number) as [number, number, number, number];
    assert.equal(status, 200);
    assert.ok(read > 80 && read < 1000 && written > 500, done.join(' '));
    assert.ok(latency > 10_000 && latency < 60e9, done.join(' '));
    assert.deepEqual(done.slice(6), ['tester/1', '192.0.2.7', '10.0.2.2']);
    assert.ok(lines.includes(`start GET ${long.slice(0, 255)}`), 'a long one is cut');
    assert.match(lines.find((line) => line.startsWith('done /api/nothing ')) ?? '', /^done \/api\/nothing 404 /);
    t.diagnostic(`a request took ${(latency / 1e6).toFixed(1)} ms, says its probe`);
  });

  await step('dtrace is killed: a gap, which is no zero, and it is started again', async () => {
    const before = await tracerd.get('io.ops');
    const killed = await guestTime(machine);
    await machine.sh('pkill -9 -x dtrace');
    await until('it is noticed', 20, async () => (await tracerd.get('io.ops')).state !== 'recording', 200);
    const back = await until(
      'it is traced again',
      120,
      async () => {
        const now = await tracerd.get('io.ops');
        return now.state === 'recording' && now.samples > before.samples + 5 && now;
      },
      1000,
    );
    assert.equal(back.restarts, before.restarts + 1);
    const now = await guestTime(machine);
    const path = `/api/v1/query_range?query=${encodeURIComponent('cistern_io_ops{dataset="io.ops"}')}&start=${Math.floor(killed) - 5}&end=${Math.floor(now) - 2}&step=1`;
    const [series] = (await api.get<{ data: { result: { values: [number, string][] }[] } }>('GET', path)).data.result;
    const times = (series?.values ?? []).map(([time]) => time);
    const gap = Math.max(...times.slice(1).map((time, i) => time - (times[i] ?? 0)));
    t.diagnostic(`a gap of ${gap} s; dtrace was tracing again ${(now - killed).toFixed(0)} s after it was killed`);
    assert.ok(gap >= 3, `points at ${times.join(' ')}`);
  });

  await step('what is recorded goes on after tracerd was restarted', async () => {
    await machine.sh('systemctl stop cistern-tracerd');
    for (let i = 0; i < 10; i++) assert.equal((await api.ask('GET', '/without-tracerd')).status, 200);
    const lines = Number(await machine.sh('journalctl -u nginx --no-pager | grep -c access.sock || true'));
    t.diagnostic(`nginx wrote ${lines} lines about a log that is not read`);
    await machine.sh('systemctl start cistern-tracerd');
    await until('it is traced again', 120, async () => (await tracerd.get('io.ops[disk]')).state === 'recording', 1000);
    assert.equal((await tracerd.get('io.ops[disk]')).restarts, 0);
    await machine.sh('test "$(pgrep -xc dtrace)" = 1');
  });
}

test('statistics of the machine itself', { timeout: 1_800_000 }, async (t) => {
  const { machine, api } = await readyMachine(t, 'analytics');
  await analyticsOf(t, machine, api);
});
