// Datasets on real ZFS: snapshots that are gone back to, a dataset that is full, encryption, and estimates held against
// what ZFS then makes of it. By the API, which the pages use; the pages have their own tests.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alerts, missing, query } from './ask.ts';
import { fullStore } from './clean.ts';
import { rowOf, wantsVariant } from './row.ts';
import { jobDone, readyMachine } from './saved.ts';
import { until } from './until.ts';

test('datasets', async (t) => {
  const { machine, api, watch } = await readyMachine(t, 'datasets');
  watch.expect(...fullStore);
  const step = rowOf(t, () => ({ machine }));

  await step(
    'the telemetry goes back to a snapshot: exactly what was there then, and what came later is kept aside',
    async () => {
      const send = (value: number) =>
        api.get('POST', '/api/v1/import', {
          samples: [{ name: 'rollback_marker', value, labels: { v: String(value) } }],
        });
      await send(1);
      const taken = await api.get<{ items?: { name: string }[]; names?: string[] }>('POST', '/api/snapshots', {
        datasets: ['tank/telemetry'],
        name: 'before',
        recursive: false,
      });
      assert.match(JSON.stringify(taken), /tank\/telemetry@before/);
      await send(2);
      const preview = await api.get<{ writtenSince: number }>(
        'GET',
        '/api/snapshots/tank%2Ftelemetry%40before/rollback-preview',
      );
      assert.ok(preview.writtenSince > 0, 'something was written since, just now');
      t.diagnostic(`what would be lost: ${JSON.stringify(preview).slice(0, 300)}`);
      const job = await api.get<{ id: string }>('POST', '/api/snapshots/tank%2Ftelemetry%40before/rollback', {
        confirm: 'tank/telemetry',
        keep: true,
        destroyNewer: false,
      });
      await jobDone(api, job);
      const markers = await until(
        'the store answers again',
        90,
        async () => {
          const found = await query(api, 'last_over_time(rollback_marker[2h])').catch(() => []);
          return found.length > 0 && found;
        },
        1000,
      );
      assert.deepEqual(
        markers.map(({ metric }) => metric.v),
        ['1'],
        'what came after the snapshot must be gone',
      );
      await send(3);
      assert.equal((await machine.sh('stat -c %U /srv/telemetry')).trim(), 'cistern-store');
      const list = await machine.sh('zfs list -H -o name,mountpoint -r tank');
      assert.match(list, /tank\/telemetry\t\/srv\/telemetry/);
      t.diagnostic(`datasets afterwards: ${list.trim().replaceAll('\n', '; ')}`);
    },
  );

  await step(
    'the dataset of the telemetry is full: nothing is acknowledged, which is an alert; with room again it goes on by itself',
    async () => {
      const send = () =>
        api.ask('POST', '/api/v1/import', { samples: [{ name: 'flow', value: 1, labels: { n: String(++sent) } }] });
      let sent = 1_000_000;
      const acknowledged: number[] = [];
      assert.equal((await send()).status, 200);
      acknowledged.push(sent);
      const began = Date.now();
      await machine.sh(
        // What is used grows meanwhile, and ZFS refuses a quota below it: without a quota all of the pool would be filled.
        'until zfs set quota=$(($(zfs get -Hpo value used tank/telemetry) + 4000000)) tank/telemetry; do sleep 1; done; dd if=/dev/urandom of=/srv/telemetry/fill bs=64k 2>/dev/null; sync; true',
      );
      const refused = await until('it refuses', 60, async () => {
        const reply = await send();
        if (reply.status === 200) acknowledged.push(sent);
        return reply.status !== 200 && reply;
      });
      assert.equal(refused.status, 503, refused.text);
      assert.match(refused.text, /quota|space/);
      assert.ok((await query(api, 'last_over_time(flow[2h])')).length > 0, 'what is stored can be read');
      const alert = await until('it is alerted', 60, async () => {
        await send();
        return (await alerts(api)).find((one) => one.class === 'store.refusing');
      });
      assert.match(alert.text, /measurements are refused: .*(quota|space)/);
      t.diagnostic(`${((Date.now() - began) / 1000).toFixed(0)} s after it was filled: ${alert.text}`);
      // Over its quota ZFS refuses to make a file shorter, too: the store starts all the same, and what it has can be read.
      await machine.sh('systemctl restart cistern-storaged');
      await until('the store answers', 90, async () => (await query(api, 'last_over_time(flow[2h])')).length > 0, 1000);
      assert.notEqual((await send()).status, 200);
      await machine.sh('rm /srv/telemetry/fill; zfs set quota=none tank/telemetry');
      await until('it takes them again', 90, async () => {
        const reply = await send();
        if (reply.status === 200) acknowledged.push(sent);
        return reply.status === 200;
      });
      await until(
        'the alert is cleared',
        120,
        async () => !(await alerts(api)).some((one) => one.class === 'store.refusing'),
        1000,
      );
      assert.deepEqual(await missing(api, acknowledged), []);
    },
  );

  await step('snapshots: a file is found and read in one, compared, cloned, held and destroyed', async () => {
    await api.get('POST', '/api/datasets', {
      name: 'tank/home',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/home' },
    });
    await machine.sh('mkdir /srv/home/docs; echo first >"/srv/home/docs/a file"; zpool sync tank');
    await api.get('POST', '/api/snapshots', { datasets: ['tank/home'], name: 'one', recursive: false });
    await machine.sh('echo second >"/srv/home/docs/a file"; echo more >/srv/home/new');
    const file = await api.ask('GET', '/api/snapshots/tank%2Fhome%40one/files/content?path=docs/a%20file');
    assert.equal(file.text, 'first\n');
    const out = await api.ask('GET', '/api/snapshots/tank%2Fhome%40one/files/content?path=../../../etc/shadow');
    assert.equal(out.status, 400, out.text);
    const { items } = await api.get<{ items: { change: string; path: string }[] }>(
      'GET',
      '/api/snapshots/tank%2Fhome%40one/differences',
    );
    assert.ok(
      items.some(({ path }) => path.endsWith('new')) && items.some(({ path }) => path.endsWith('a file')),
      JSON.stringify(items),
    );
    await api.get('POST', '/api/snapshots/tank%2Fhome%40one/clone', { name: 'tank/copy', mountpoint: '/srv/copy' });
    assert.equal(await machine.sh('cat "/srv/copy/docs/a file"'), 'first\n');
    await api.get('POST', '/api/snapshots/hold', { names: ['tank/home@one'], tag: 'keep' });
    const kept = await api.get<{ refused: { name: string; reason: string }[] }>('POST', '/api/snapshots/destroy', {
      names: ['tank/home@one'],
    });
    assert.equal(kept.refused.length, 1);
    await api.get('POST', '/api/snapshots/release', { names: ['tank/home@one'], tag: 'keep' });
    await api.get('DELETE', '/api/datasets/tank%2Fcopy', { confirm: 'tank/copy', recursive: false });
    const gone = await api.get<{ destroyed: string[] }>('POST', '/api/snapshots/destroy', { names: ['tank/home@one'] });
    assert.equal(gone.destroyed.length, 1);
  });

  await step('an encrypted dataset: locked, unlocked, and never opened by a wrong passphrase', async () => {
    await api.get('POST', '/api/datasets', {
      name: 'tank/secret',
      kind: 'filesystem',
      properties: { mountpoint: '/srv/secret' },
      encryption: { format: 'passphrase', passphrase: 'c4nary-Passphrase' },
    });
    await machine.sh('echo hidden >/srv/secret/file');
    const key = (verb: string, body?: object) => api.ask('POST', `/api/datasets/tank%2Fsecret/${verb}-key`, body);
    assert.equal((await key('unload')).status, 200);
    assert.equal((await machine.sh('ls /srv/secret 2>/dev/null || true')).trim(), '');
    const wrong = await key('load', { passphrase: 'not the passphrase' });
    assert.equal(wrong.json<{ code: string }>().code, 'wrong_key', wrong.text);
    assert.equal((await key('load', { passphrase: 'c4nary-Passphrase' })).status, 200);
    assert.equal(await machine.sh('cat /srv/secret/file'), 'hidden\n');
    assert.equal(
      await machine.sh(
        'grep -rlF c4nary-Passphrase /var/lib/cistern /var/log 2>/dev/null; journalctl --no-pager | grep -cF c4nary-Passphrase || true',
      ),
      '0\n',
      'the passphrase was written down',
    );
  });

  const estimate = 'the estimate of a compression is within a tenth of what ZFS makes of it';
  await step(estimate, async () => {
    // Three kinds of data that machines have: a log, measurements as JSON, and programs.
    const kinds: Record<string, string> = {
      // Not much has been logged yet: the same again and again, which no block knows of another. Of each line goes with it a
      // number, longer and shorter by turns: blocks that are all alike would all need one sector more, or all one less.
      log: `journalctl --no-pager -o short-iso >/run/log.txt 2>/dev/null; for n in $(seq 60); do cat /run/log.txt; done 2>/dev/null |
        awk 'BEGIN { srand(11) } { id = ""; for (k = int(NR / 2500) % 9; k > 0; k--) id = id sprintf("%04x", rand() * 65536); print $0, id }' | head -c 8000000`,
      json: `awk 'BEGIN { srand(7); for (i = 0; i < 60000; i++) printf "{\\"time\\":%d,\\"host\\":\\"web%d\\",\\"metric\\":\\"request.latency\\",\\"value\\":%.6f}\\n", 1767225600 + i, i % 40, exp(rand() * 3) }'`,
      programs: 'cat /usr/bin/* 2>/dev/null | head -c 8000000',
    };
    // One kind and two of the compressions stand for all of them in the ordinary run.
    const all = wantsVariant(estimate);
    for (const [kind, command] of Object.entries(kinds).slice(0, all ? undefined : 1)) {
      const source = `tank/${kind}`;
      await api.get('POST', '/api/datasets', {
        name: source,
        kind: 'filesystem',
        properties: { mountpoint: `/srv/${kind}`, compression: 'off' },
      });
      await machine.sh(`${command} >/srv/${kind}/data; zpool sync tank`);
      const job = await api.get<{ id: string }>(
        'POST',
        `/api/datasets/${encodeURIComponent(source)}/estimate-compression`,
        {},
      );
      await jobDone(api, job, 300);
      const { result } = await api.get<{ result: { levels: { compression: string; ratio: number }[] } }>(
        'GET',
        `/api/jobs/${job.id}`,
      );
      for (const compression of all ? ['lz4', 'zstd-1', 'zstd-3', 'gzip-1'] : ['lz4', 'zstd-3']) {
        const target = `${source}-${compression}`;
        const real = Number(
          await machine.sh(
            // Not cp, which would have ZFS share the blocks as they are.
            `zfs create -o compression=${compression} -o mountpoint=/srv/${kind}-${compression} ${target} &&
              dd if=/srv/${kind}/data of=/srv/${kind}-${compression}/data bs=128k status=none && zpool sync tank &&
              zfs get -Hp -o value compressratio ${target}`,
          ),
        );
        const estimated = result.levels.find((level) => level.compression === compression)?.ratio ?? 0;
        t.diagnostic(`${kind} ${compression}: estimated ${estimated.toFixed(2)}, real ${real.toFixed(2)}`);
        assert.ok(
          Math.abs(estimated / real - 1) <= 0.1,
          `${kind} with ${compression}: ${estimated} estimated, ${real} real`,
        );
      }
    }
  });
});
