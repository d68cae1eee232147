// Free ports of the loopback address, for the programs of a test.
import { randomInt } from 'node:crypto';
import { createServer, type Server } from 'node:net';

function listen(port = 0): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}

/**
 * `count` free TCP ports, each another (and very likely free UDP ones of the same numbers). They are held until all
 * are known: one that was closed at once can be given a second time.
 */
export async function freePorts(count: number): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen()));
  const ports = servers.map((server) => (server.address() as { port: number }).port);
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/**
 * The same, for who gives them back for a while: none of those that the kernel hands out by itself, so that no other test and no
 * connection has them meanwhile.
 */
export async function steadyPorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(10_000, 32_000);
    if (ports.has(port)) continue;
    const server = await listen(port).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EADDRINUSE') throw error;
      return null;
    });
    if (server === null) continue;
    await new Promise((resolve) => server.close(resolve));
    ports.add(port);
  }
  return [...ports];
}

export async function freePort(): Promise<number> {
  const [port] = await freePorts(1);
  return port as number;
}
