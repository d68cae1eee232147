// A certificate in words: whom it is for, who vouches for it, and until when.
import type { Schemas } from '../../api/client.ts';
import { Facts } from '../../shells/Facts.tsx';

type Shown = Schemas['PageCertificate'];

const day = (time: string) => new Date(time).toLocaleDateString();

/** Who trusts it. */
export function trustWords({ selfSigned, trusted, issuer }: Shown): string {
  if (selfSigned) return 'this appliance itself: browsers warn of it until somebody has compared the fingerprint';
  if (trusted) return `${issuer}, by an authority that browsers know`;
  return `${issuer}: trusted where that authority was installed`;
}

export function CertificateFacts({ certificate }: { certificate: Shown }) {
  const { names, addresses, validFrom, validTo, fingerprint, key, chain } = certificate;
  const ended = Date.parse(validTo) < Date.now();
  return (
    <Facts
      isHorizontal
      isCompact
      facts={[
        ['For', [...names, ...addresses].join(', ')],
        ['Issued by', trustWords(certificate)],
        ...(chain.length > 0 ? [['Sent with it', chain.map(({ subject }) => subject).join(', ')] as const] : []),
        ['Valid', `${day(validFrom)} to ${day(validTo)}${ended ? ': it has expired' : ''}`],
        ['Key', key],
        [
          'Fingerprint (SHA-256)',
          <code key="fingerprint" className="cistern-wrap">
            {fingerprint}
          </code>,
        ],
      ]}
    />
  );
}
