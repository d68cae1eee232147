// A person at the API: keeps the cookies, and sends what a browser on our own pages sends.
import { ask, type Reply, until } from './http.ts';
import { noteSlow } from './slow.ts';
import type { Stack } from './stack.ts';

export const administrator = { name: 'admin', password: 'correct horse battery' };

export class Person {
  readonly #url: string;
  readonly #cookies = new Map<string, string>();

  readonly #timeoutMs: number | undefined;
  /** Given again when the appliance asks for it. */
  #password: string | undefined;

  /** @param timeoutMs for a machine under emulation, where everything takes its time */
  constructor(url: string, timeoutMs?: number) {
    this.#url = url;
    this.#timeoutMs = timeoutMs;
  }

  /** What needs the password again gets it, as a page would ask for it, and is repeated. */
  async ask(method: string, path: string, body?: unknown): Promise<Reply> {
    const { password } = (body ?? {}) as { password?: unknown };
    if (/^\/api\/(session|setup\/create-administrator)$/.test(path) && typeof password === 'string')
      this.#password = password;
    const reply = await this.#askOnce(method, path, body);
    if (reply.status !== 403 || !reply.text.includes('"confirmation_required"')) return reply;
    const confirmed = await this.#askOnce('POST', '/api/session/confirm', { password: this.#password });
    return confirmed.status === 200 ? this.#askOnce(method, path, body) : reply;
  }

  async #askOnce(method: string, path: string, body?: unknown): Promise<Reply> {
    const cookie = [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const headers: Record<string, string> = { origin: this.#url, ...(cookie && { cookie }) };
    const began = Date.now();
    const reply = await ask(new URL(path, this.#url), {
      ...{ method, headers, body },
      ...(this.#timeoutMs !== undefined && { timeoutMs: this.#timeoutMs }),
    });
    noteSlow(`${method} ${path}`, began);
    for (const line of reply.headers['set-cookie'] ?? []) {
      const [name, value] = (line.split(';', 1)[0] as string).split('=', 2) as [string, string];
      if (value === '') this.#cookies.delete(name);
      else this.#cookies.set(name, value);
    }
    return reply;
  }

  /** The answer as JSON, or an error that says what was refused. */
  async get<T = unknown>(method: string, path: string, body?: unknown): Promise<T> {
    const reply = await this.ask(method, path, body);
    if (reply.status >= 400) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`);
    return (reply.text === '' ? undefined : reply.json()) as T;
  }
}

export async function signIn(stack: Stack): Promise<Person> {
  const person = new Person(stack.url);
  await person.get('POST', '/api/session', { user: administrator.name, password: administrator.password });
  return person;
}

/** The wizard, without the pages: an administrator, and a pool of two mirrors that holds the telemetry. */
export async function setUp(stack: Stack): Promise<Person> {
  const person = new Person(stack.url);
  await person.get('POST', '/api/setup/enter-code', { code: stack.setupCode });
  await person.get('POST', '/api/setup/create-administrator', administrator);
  await person.get('POST', '/api/setup/set-identity', { hostName: 'cistern-dev', timeZone: 'UTC' });
  const { items } = await person.get<{ items: { id: string; state: string }[] }>('GET', '/api/disks');
  const disks = items.filter((disk) => disk.state === 'available').map((disk) => disk.id);
  const job = await person.get<{ id: string }>('POST', '/api/pools', {
    name: 'tank',
    layout: 'mirror',
    disks,
    telemetry: true,
  });
  await until('the pool is created', async () => {
    const { state, error } = await person.get<{ state: string; error: unknown }>('GET', `/api/jobs/${job.id}`);
    if (state === 'failed') throw new Error(JSON.stringify(error));
    return state === 'done' || undefined;
  });
  for (const step of ['destinations', 'done']) await person.get('POST', '/api/setup/go-to-step', { step });
  await person.get('POST', '/api/setup/finish');
  return person;
}
