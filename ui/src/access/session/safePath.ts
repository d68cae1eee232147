// The page that is opened after signing in.
/** Only a path of our own: never a foreign address that a link may contain. */
export function safePath(text: string | null): string {
  return text !== null && /^\/(?![/\\])/.test(text) ? text : '/';
}
