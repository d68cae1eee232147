// What an empty chart says.
/** What an empty plot says: that it is still being read, or why nothing is in it. */
export function PlotNote({ reading, empty }: { reading: boolean; empty: string | null }) {
  if (reading) {
    return (
      <p className="cistern-plotnote cistern-reading" role="status">
        Reading…
      </p>
    );
  }
  return empty === null ? null : <p className="cistern-plotnote">{empty}</p>;
}
