// The programs of the command line that the appliance hands out, and what is pasted to install one. The sum stands in the pasted
// lines: who reads this page trusts it already, so the download needs no certificate that the system knows.

export interface Program {
  readonly system: string;
  readonly architecture: string;
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** What /command-line/list.json holds (ui/scripts/write-commands.ts). */
export interface Commands {
  readonly version: string;
  readonly programs: readonly Program[];
}

const SYSTEMS: Readonly<Record<string, string>> = {
  linux: 'Linux',
  darwin: 'macOS',
  windows: 'Windows',
  illumos: 'illumos',
};

export function titleOf({ system, architecture }: Program): string {
  const chip =
    architecture === 'arm64' ? (system === 'darwin' ? 'Apple silicon' : 'ARM, 64 bits') : 'Intel and AMD, 64 bits';
  return `${SYSTEMS[system] ?? system} (${system === 'darwin' && architecture === 'amd64' ? 'Intel' : chip})`;
}

/** Which system a browser says that it runs on. A Mac's says Intel of either chip; what is sold now is Apple's own. */
export function systemOf(agent: string): readonly [system: string, architecture: string] {
  if (/Windows/.test(agent)) return ['windows', 'amd64'];
  if (/Macintosh|Mac OS X/.test(agent)) return ['darwin', 'arm64'];
  if (/SunOS|illumos/.test(agent)) return ['illumos', 'amd64'];
  return ['linux', /aarch64|arm64|Android/.test(agent) ? 'arm64' : 'amd64'];
}

/** The visitor's first, then the others as they are listed. */
export function forVisitor(programs: readonly Program[], agent: string): Program[] {
  const [system, architecture] = systemOf(agent);
  const rank = (one: Program) => (one.system !== system ? 2 : one.architecture === architecture ? 0 : 1);
  return [...programs].sort((a, b) => rank(a) - rank(b));
}

/** Stands for the SHA-256 of the certificate. */
export const FINGERPRINT = 'FINGERPRINT';

/** How the sum of a downloaded file is looked at, without the lines. */
export function checkOf({ system, file }: Program): string {
  if (system === 'windows') return `Get-FileHash ${file}`;
  if (system === 'darwin') return `shasum -a 256 ${file}`;
  return system === 'illumos' ? `digest -a sha256 ${file}` : `sha256sum ${file}`;
}

/** Download, check, install, sign in, completion. `origin` is the appliance's. */
export function linesFor(program: Program, origin: string): string {
  const { system, file, sha256 } = program;
  const from = `${origin}/command-line/${file}`;
  const signIn = `cistern sign-in --url ${origin} --fingerprint ${FINGERPRINT}`;
  if (system === 'windows') {
    return [
      `curl.exe -kfO ${from}`,
      `if ((Get-FileHash ${file}).Hash -ne '${sha256}') { Remove-Item ${file}; throw 'The sum is another one.' }`,
      `Expand-Archive -Force ${file} "$env:LOCALAPPDATA\\Programs\\cistern"`,
      `$env:Path += ";$env:LOCALAPPDATA\\Programs\\cistern"`,
      signIn,
      'cistern completion powershell | Out-String | Invoke-Expression',
    ].join('\n');
  }
  const sum = system === 'darwin' ? 'shasum -a 256 -c' : 'sha256sum -c';
  const same =
    system === 'illumos' ? `[ "$(digest -a sha256 ${file})" = ${sha256} ]` : `echo '${sha256}  ${file}' | ${sum}`;
  const shell = system === 'darwin' ? 'zsh' : 'bash';
  return [
    'mkdir -p ~/.local/bin && cd ~/.local/bin &&',
    `curl -kfO ${from} &&`,
    `${same} &&`,
    // A plain program is the appliance's own; the others are packed, and come with their mode.
    file.endsWith('.tar.xz')
      ? `${system === 'illumos' ? 'gtar' : 'tar'} -xJf ${file} && rm ${file} &&`
      : `mv ${file} cistern && chmod 755 cistern &&`,
    'export PATH="$HOME/.local/bin:$PATH" &&',
    `${signIn} &&`,
    `eval "$(cistern completion ${shell})"`,
  ].join('\n');
}
