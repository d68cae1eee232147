// A time server on this machine, as a guest asks it.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/** QEMU's own network: the guest finds this machine's loopback address there. */
export const HOST = '10.0.2.2';

/** Time of the 32.32 bit format of RFC 5905, which begins in 1900. */
function ntpTime(milliseconds: number): Buffer {
  const buffer = Buffer.alloc(8);
  buffer.writeUInt32BE(Math.floor(milliseconds / 1000) + 2_208_988_800, 0);
  buffer.writeUInt32BE(Math.floor(((milliseconds % 1000) / 1000) * 2 ** 32), 4);
  return buffer;
}

/** A server of stratum 1 whose clock may be ahead. Port 123, which no server's address can tell. */
export async function timeServer(aheadSeconds = 0): Promise<{ close: () => void; asked: () => number }> {
  const socket = createSocket('udp4');
  let asked = 0;
  socket.on('message', (question, from) => {
    asked += 1;
    const now = ntpTime(Date.now() + aheadSeconds * 1000);
    // It may be a hundredth of a second off itself, as it says (root dispersion): two that agree to the microsecond are none that chrony trusts.
    const head = Buffer.from([0b00_100_100, 1, 6, 0xec, 0, 0, 0, 0, 0, 0, 0x02, 0x90]);
    const answer = Buffer.concat([head, Buffer.from('TEST'), now, question.subarray(40, 48), now, now]);
    socket.send(answer, from.port, from.address);
  });
  socket.bind(123, '127.0.0.1');
  await once(socket, 'listening').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error;
    throw new Error('UDP port 123 of this machine is taken, probably by its own time server: stop that for this test.');
  });
  return { close: () => socket.close(), asked: () => asked };
}

/** The guest asks it from now on, and nobody else. */
export const askOurTimeServer = (api: { get: (method: string, path: string, body?: unknown) => Promise<unknown> }) =>
  api.get('PUT', '/api/time', { servers: [{ address: HOST, pool: false, nts: false }], fromNetwork: false });
