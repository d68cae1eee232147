// What drivers read of network links in the same way.

/** 2:8:20:a:b:c and 02:08:20:0A:0B:0C as 02:08:20:0a:0b:0c; null when it is none, or not an assigned one. */
export function ethernetAddress(text: string): string | null {
  const parts = text.split(':');
  if (parts.length !== 6 || !parts.every((part) => /^[0-9a-f]{1,2}$/i.test(part))) return null;
  const address = parts.map((part) => part.padStart(2, '0').toLowerCase()).join(':');
  return address === '00:00:00:00:00:00' ? null : address;
}
