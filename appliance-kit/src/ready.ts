// Tells systemd that akd is ready. Node has no datagram sockets in the Unix domain, so systemd's own program does it;
// where there is none, or nobody asked, nothing happens.
import { execFile } from 'node:child_process';
import process from 'node:process';

export function ready(): Promise<void> {
  if (!process.env.NOTIFY_SOCKET) return Promise.resolve();
  return new Promise((resolve) => {
    execFile('systemd-notify', ['--ready', `--pid=${process.pid}`], { timeout: 5_000 }, () => resolve());
  });
}
