// Where a test's time goes: what takes long is a line of its log.
const SECONDS = 5;

/** @param began by Date.now() */
export function noteSlow(what: string, began: number): void {
  const seconds = (Date.now() - began) / 1000;
  if (seconds >= SECONDS) console.error(`--- ${seconds.toFixed(1)} s: ${what.slice(0, 200)}`);
}
