// The appliance's own nginx configuration with this machine's values in it.
import { readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';

const folder = path.join(import.meta.dirname, '../../image/common/nginx');
const template = path.join(folder, 'cistern.conf.in');

/** What the configuration includes from the folder that it is in. */
export const included = ['cistern-store.conf', 'cistern-asked.conf'].map((name) => path.join(folder, name));

/** The command line for the system that the parts run on, by the name under which it is handed out. */
export const ownCommand = 'cistern-linux-amd64';

export interface NginxValues {
  readonly dir: string;
  readonly run: string;
  /** Where support bundles are kept. */
  readonly support: string;
  /** The command line as the appliance hands it out: list.json and archives, and the program of this system. */
  readonly commands: string;
  readonly command: string;
  readonly httpPort: number;
  readonly httpsPort: number;
  /** For programs with a certificate. */
  readonly certificatePort: number;
  readonly certificate: string;
  readonly key: string;
  /** The key by which it knows sessions. */
  readonly places: string;
  /** The built pages, or the port Vite serves them from. */
  readonly ui: { readonly built: string } | { readonly vitePort: number };
}

export function nginxConfiguration(values: NginxValues): string {
  const vite = 'vitePort' in values.ui;
  const replacements: Record<string, string> = {
    USER: userInfo().username,
    WORKERS: '1',
    IPV4: '127.0.0.1:',
    IPV6: '# ',
    HTTP_PORT: String(values.httpPort),
    HTTPS_PORT: String(values.httpsPort),
    CERTIFICATE_PORT: String(values.certificatePort),
    HTTPS_SUFFIX: `:${values.httpsPort}`,
    TLS_CERTIFICATE: values.certificate,
    TLS_KEY: values.key,
    // A glob, as on the appliance.
    PLACES: values.places.replace(/f$/, '[f]'),
    // A browser would hold it against everything else on localhost.
    HSTS_SECONDS: '0',
    RUN: values.dir,
    TEMP: values.dir,
    SOCKETS: values.run,
    SUPPORT: values.support,
    COMMANDS: values.commands,
    COMMAND: values.command,
    OWN_COMMAND: ownCommand,
    UI: 'built' in values.ui ? values.ui.built : '',
    DTRACE: '# ',
    BUILT: vite ? '# ' : '',
    VITE: vite ? '' : '# ',
    VITE_UPSTREAM: 'vitePort' in values.ui ? `http://127.0.0.1:${values.ui.vitePort}` : '',
    INLINE: vite ? " 'unsafe-inline'" : '',
  };
  // As on the appliance each request is reported to supportd; there is no tracerd here.
  const log = `access_log syslog:server=unix:${values.run}/supportd/access.sock,nohostname,tag=nginx cistern_http;`;
  const text = readFileSync(template, 'utf8').replace('access_log off;', log);
  return text.replace(/@([A-Z0-9_]+)@/g, (_, name: string) => {
    const value = replacements[name];
    if (value === undefined) throw new Error(`${template} has a placeholder that is not filled in: @${name}@`);
    return value;
  });
}
