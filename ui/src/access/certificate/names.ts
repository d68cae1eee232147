// Names and addresses as somebody types them, in one field.
export interface Names {
  readonly names: string[];
  readonly addresses: string[];
}

const isAddress = (text: string) => /^[0-9.]+$/.test(text) || text.includes(':');

export function namesOf(text: string): Names {
  const all = text.split(/[\s,;]+/).filter((one) => one !== '');
  return { names: all.filter((one) => !isAddress(one)), addresses: all.filter(isAddress) };
}

/** What a new certificate is for unless somebody says otherwise: what the present one is for, and how the page is open. */
export function proposed(present: Names | null, hostname: string): string {
  const host = hostname.replace(/^\[|\]$/g, '');
  return [...new Set([host, ...(present?.names ?? []), ...(present?.addresses ?? [])])].join(' ');
}
