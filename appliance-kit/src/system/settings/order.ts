// The order in which parts are applied: that of their domains, each after those that it says it follows.
import type { SettingsPart } from '../../domain/settings-part.ts';

export function inOrder(parts: readonly SettingsPart[]): SettingsPart[] {
  const named = new Map(parts.map((part) => [part.name, part]));
  if (named.size !== parts.length) throw new Error('two parts of the settings have the same name');
  const done: SettingsPart[] = [];
  const visit = (part: SettingsPart, way: readonly string[]) => {
    if (done.includes(part)) return;
    if (way.includes(part.name)) throw new Error(`parts of the settings follow one another in a circle: ${part.name}`);
    for (const name of part.after ?? []) {
      const before = named.get(name);
      if (before === undefined) throw new Error(`the part ${part.name} of the settings follows ${name}, which is none`);
      visit(before, [...way, part.name]);
    }
    done.push(part);
  };
  for (const part of parts) visit(part, []);
  return done;
}
