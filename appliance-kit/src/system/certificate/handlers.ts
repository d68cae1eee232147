import type { IncomingHttpHeaders } from 'node:http';
import type { Audit } from '../../access/audit/index.ts';
import type { Caller } from '../../http/gate/caller.ts';
import type { Handlers } from '../../http/handlers.ts';
import type { Changes } from '../../http/live-updates/changes.ts';
import type {
  CertificatePlatform,
  GivenCertificate,
  PlatformCertificate,
  PlatformCertificateState,
} from '../../platform/certificate.ts';
import type { routes } from './routes.ts';
import type { CertificateState } from './schema.ts';

export interface CertificateRoutesParts {
  readonly platform: { readonly certificate: CertificatePlatform };
  readonly audit: Audit;
  readonly changes: Changes;
  /** Another one is in use. */
  readonly changed: () => void;
}

/** What of a certificate is worth a line of the audit log. */
const noted = (one: PlatformCertificate | null) =>
  one && {
    fingerprint: one.fingerprint,
    issuer: one.issuer,
    validTo: one.validTo,
    names: [...one.names, ...one.addresses],
  };

/** The host name or address of a Host header; empty: there is none. */
export const reachedAs = (header: string | undefined) =>
  (URL.parse(`https://${header ?? ''}`)?.hostname ?? '').replace(/^\[|\]$/g, '');

const shown = ({ problem, ...rest }: PlatformCertificateState): CertificateState =>
  structuredClone({ ...rest, problem: problem === '' ? null : problem }) as CertificateState;

export function certificateRoutes(parts: CertificateRoutesParts): Handlers<typeof routes> {
  const { platform, audit, changes, changed } = parts;
  const { certificate } = platform;
  const replace = async (action: string, caller: Caller, run: () => Promise<PlatformCertificateState>) => {
    const before = (await certificate.state()).current;
    const after = await run();
    audit.record(caller, action, after.current?.subject ?? '', noted(before), noted(after.current));
    changes.publish('certificate');
    changed();
    return shown(after);
  };
  const whole = (
    body: { readonly [K in keyof GivenCertificate]?: GivenCertificate[K] },
    headers: IncomingHttpHeaders,
  ): GivenCertificate => ({
    ...{ certificate: '', key: '', pkcs12: '', password: '', accept: [], ...body },
    // What comes past the web server, by the appliance's own command line, has no address of the page.
    reachedAs: headers['x-forwarded-for'] === undefined ? '' : reachedAs(headers.host),
  });
  return {
    getCertificate: async () => shown(await certificate.state()),

    createSigningRequest: async ({ body, caller }) => {
      const after = await certificate.request({ organization: '', country: '', key: 'ecdsa-p256', ...body });
      const { subject = '', names, addresses, key } = after.request ?? {};
      audit.record(caller, 'certificate.request', subject, null, { names, addresses, key });
      changes.publish('certificate');
      return shown(after);
    },

    previewCertificate: async ({ body, request }) =>
      structuredClone(await certificate.check(whole(body, request.headers))) as never,

    installCertificate: ({ body, caller, request }) =>
      replace('certificate.install', caller, () => certificate.install(whole(body, request.headers))),

    selfSignCertificate: ({ body, caller }) =>
      replace('certificate.self-sign', caller, () => certificate.selfSigned(body)),

    restoreCertificate: ({ caller }) => replace('certificate.restore', caller, () => certificate.restore()),
  };
}
