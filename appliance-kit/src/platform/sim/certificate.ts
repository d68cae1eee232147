// The certificate of the simulated machine's web page is a real one: execd itself carries the verbs out, in a folder that belongs to
// whoever runs akd, and tells the web server, if there is one.
import { existsSync, mkdirSync } from 'node:fs';
import { fail } from '../../base/problems/problem.ts';
import { type CertificatePlatform, type CertificateVerbs, certificateBy } from '../certificate.ts';
import { askProgram } from './program.ts';

export interface SimCertificateOptions {
  /** The execd program. */
  readonly program: () => string;
  readonly folder: string;
  /** Where a web server says which process it is, and its port. */
  readonly nginxPid?: string;
  readonly httpsPort?: number;
}

export function simCertificate(
  options: SimCertificateOptions | undefined,
  hostName: () => string,
): CertificatePlatform {
  const carryOut = async (verb: string, body: unknown): Promise<unknown> => {
    if (options === undefined)
      throw fail('service_unavailable', 'This simulation was given no folder for certificates.');
    const { program, folder, nginxPid, httpsPort } = options;
    mkdirSync(folder, { recursive: true });
    const web = nginxPid !== undefined && existsSync(nginxPid) ? ['--nginx-pid', nginxPid] : [];
    const port = httpsPort === undefined ? [] : ['--https-port', String(httpsPort)];
    const flags = ['--certificate', '--folder', folder, '--host-name', hostName(), ...web, ...port];
    return askProgram(program(), [...flags, verb], body);
  };
  const run = async <V extends keyof CertificateVerbs>(verb: V, body: CertificateVerbs[V]) => {
    const state = (await carryOut('tls.state', {})) as { current: unknown };
    // As the first boot makes it.
    const names = { names: [hostName(), `${hostName()}.local`, 'localhost'], addresses: ['127.0.0.1'] };
    const first = state.current === null ? await carryOut('tls.self-signed', names) : state;
    return verb === 'tls.state' ? first : carryOut(verb, body);
  };
  return certificateBy(run);
}
