// A browser or program by what it calls itself (User-Agent), as far as people know it by name.

const BROWSERS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/\bEdgA?\/(\d+)/, 'Edge'],
  [/\bOPR\/(\d+)/, 'Opera'],
  [/\bFirefox\/(\d+)/, 'Firefox'],
  [/\b(?:Headless)?Chrome\/(\d+)/, 'Chrome'],
  [/\bVersion\/(\d+)[\d.]* (?:Mobile\/\S+ )?Safari\//, 'Safari'],
  [/^cistern\/?(\S*)/, 'cistern'],
  [/^curl\/(\S+)/, 'curl'],
];

const SYSTEMS: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/Android/, 'Android'],
  [/iPhone|iPad/, 'iOS'],
  [/Windows/, 'Windows'],
  [/Mac OS X|Macintosh/, 'macOS'],
  [/SunOS/, 'illumos'],
  [/Linux|X11/, 'Linux'],
];

export function browserName(userAgent: string | null): string {
  if (userAgent === null || userAgent === '') return 'unknown';
  const system = SYSTEMS.find(([pattern]) => pattern.test(userAgent))?.[1];
  for (const [pattern, name] of BROWSERS) {
    const version = pattern.exec(userAgent)?.[1];
    if (version !== undefined) return [name, version, ...(system ? [`on ${system}`] : [])].filter(Boolean).join(' ');
  }
  return userAgent.slice(0, 40);
}
