// Under a chart: how often what it shows repeats.

/** @param said null: it does not */
export function RepeatsNote({ said }: { said: string | null }) {
  return said === null ? null : <p className="cistern-chartnote">{said}</p>;
}
