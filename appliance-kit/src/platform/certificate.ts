// The key and the certificate of the appliance's web page. Keys are execd's alone (services/execd/certificate): what is given goes in, and
// what comes out is public.

export interface PlatformCertificate {
  readonly subject: string;
  readonly names: readonly string[];
  readonly addresses: readonly string[];
  readonly issuer: string;
  /** ISO 8601. */
  readonly validFrom: string;
  readonly validTo: string;
  /** SHA-256, as the console shows it. */
  readonly fingerprint: string;
  /** As ECDSA P-256. */
  readonly key: string;
  readonly selfSigned: boolean;
  /** The chain ends with an authority that signed itself, or that the system knows. */
  readonly complete: boolean;
  /** By an authority that the system knows. */
  readonly trusted: boolean;
  readonly chain: readonly { readonly subject: string; readonly validTo: string }[];
}

export interface CertificateNames {
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

export interface PlatformCertificateState {
  readonly current: PlatformCertificate | null;
  /** Why nothing is known of the current one; empty when it is. */
  readonly problem: string;
  readonly previous: PlatformCertificate | null;
  readonly request:
    | (CertificateNames & { readonly subject: string; readonly key: string; readonly pem: string })
    | null;
}

export interface CertificateRequest extends CertificateNames {
  readonly organization: string;
  readonly country: string;
  readonly key: string;
}

/** PEM, or PKCS #12 in base64; empty is what is not given. */
export interface GivenCertificate {
  readonly certificate: string;
  readonly key: string;
  readonly pkcs12: string;
  readonly password: string;
  /** The host name or address by which the page is open. */
  readonly reachedAs: string;
  /** Kinds of warnings. */
  readonly accept: readonly string[];
}

export interface CheckedCertificate {
  readonly certificate: PlatformCertificate;
  readonly warnings: readonly { readonly kind: string; readonly message: string }[];
  readonly notes: readonly string[];
}

export interface CertificatePlatform {
  state(): Promise<PlatformCertificateState>;
  /** A key is made, and kept until its certificate is installed. */
  request(request: CertificateRequest): Promise<PlatformCertificateState>;
  /** Changes nothing. */
  check(given: GivenCertificate): Promise<CheckedCertificate>;
  /** Throws unless the page answers with it; then all is as it was. */
  install(given: GivenCertificate): Promise<PlatformCertificateState>;
  selfSigned(names: CertificateNames): Promise<PlatformCertificateState>;
  /** The one in use before. */
  restore(): Promise<PlatformCertificateState>;
}

/** What the verbs take, by their names. */
export interface CertificateVerbs {
  'tls.state': Record<string, never>;
  'tls.request': CertificateRequest;
  'tls.check': GivenCertificate;
  'tls.install': GivenCertificate;
  'tls.self-signed': CertificateNames;
  'tls.restore': Record<string, never>;
}

/** @param run carries out one of the verbs */
export function certificateBy(
  run: <V extends keyof CertificateVerbs>(verb: V, body: CertificateVerbs[V]) => Promise<unknown>,
): CertificatePlatform {
  const state = async (answer: Promise<unknown>) => (await answer) as PlatformCertificateState;
  return {
    state: () => state(run('tls.state', {})),
    request: (request) => state(run('tls.request', request)),
    check: async (given) => (await run('tls.check', given)) as CheckedCertificate,
    install: (given) => state(run('tls.install', given)),
    selfSigned: (names) => state(run('tls.self-signed', names)),
    restore: () => state(run('tls.restore', {})),
  };
}
