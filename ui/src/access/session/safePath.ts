// Where one is led after signing in.
/** Only a path of our own: never an address somebody put into the link. */
export function safePath(text: string | null): string {
  return text !== null && /^\/(?![/\\])/.test(text) ? text : '/';
}
