// What is typed into a LinesField.

/** The lines that are not empty. */
export const linesIn = (text: string) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

/** NAME=VALUE a line. The appliance says what is wrong with a line without a value. */
export function labelsIn(text: string): Record<string, string> {
  return Object.fromEntries(
    linesIn(text).map((line) => {
      const at = line.indexOf('=');
      return at < 0 ? [line, ''] : [line.slice(0, at).trim(), line.slice(at + 1).trim()];
    }),
  );
}
