// A mail as its reader's program shows it.
import assert from 'node:assert/strict';
import type { Letter } from '../../appliance-kit/tests/smtp.ts';

interface Part {
  readonly headers: string;
  readonly body: string;
}

function partsOf(text: string): Part[] {
  const end = text.indexOf('\r\n\r\n');
  const [headers, body] = [text.slice(0, end).replace(/\r\n[ \t]+/g, ' '), text.slice(end + 4)];
  const boundary = /^content-type: multipart\/.*boundary="?([^";]+)"?/im.exec(headers)?.[1];
  if (boundary === undefined) return [{ headers, body }];
  return body
    .split(`--${boundary}`)
    .slice(1, -1)
    .flatMap((part) => partsOf(part.replace(/^\r\n/, '').replace(/\r\n$/, '')));
}

function decoded({ headers, body }: Part): Buffer {
  if (/^content-transfer-encoding: base64/im.test(headers)) return Buffer.from(body, 'base64');
  if (!/^content-transfer-encoding: quoted-printable/im.test(headers)) return Buffer.from(body);
  const text = body.replace(/=\r\n/g, '');
  return Buffer.from(
    text.replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  );
}

const find = (parts: readonly Part[], type: RegExp): Part => {
  const found = parts.find(({ headers }) => type.test(headers));
  assert.ok(found, `parts: ${parts.map(({ headers }) => headers).join('; ')}`);
  return found;
};
const HTML = /^content-type: text\/html/im;

/** The page in it, with the picture in its place. */
export function htmlOf({ content }: Letter): string {
  const parts = partsOf(content);
  const html = decoded(find(parts, HTML)).toString();
  const picture = find(parts, /^content-type: image\/png/im);
  const id = /^content-id: <(.*)>/im.exec(picture.headers)?.[1];
  assert.ok(html.includes(`cid:${id}`));
  return html.replaceAll(`cid:${id}`, `data:image/png;base64,${decoded(picture).toString('base64')}`);
}

/** Where the first link of its page leads whose address fits. */
export function linkIn({ content }: Letter, address: RegExp): string {
  const html = decoded(find(partsOf(content), HTML)).toString();
  const links = [...html.matchAll(/href="([^"]+)"/g)].map(([, link]) => (link as string).replaceAll('&amp;', '&'));
  const link = links.find((one) => address.test(one));
  assert.ok(link, `links: ${links.join(' ')}`);
  return link;
}
