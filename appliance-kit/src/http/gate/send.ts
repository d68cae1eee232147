// Sends an answer that fastify has left to its handler.
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

/**
 * Sends all that comes of a source, and returns when it has been sent. Either side going away ends both: the client notices by an
 * answer that is cut off.
 */
export async function sendAll(
  source: Readable | AsyncIterable<string> | Iterable<string>,
  raw: ServerResponse,
): Promise<void> {
  // A response without a socket, as tests have it, is finished and never closed.
  await Promise.race([pipeline(source, raw), once(raw, 'finish'), once(raw, 'close')]).catch(() => raw.destroy());
}
