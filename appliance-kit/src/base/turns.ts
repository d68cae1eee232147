// One after the other: what is read is what is changed.

/** Runs what it is given once all that it was given before has ended, however that ended. */
export type InTurn = <T>(run: () => Promise<T>) => Promise<T>;

export function turns(): InTurn {
  let last: Promise<unknown> = Promise.resolve();
  return (run) => {
    const turn = last.then(run);
    last = turn.catch(() => {});
    return turn;
  };
}
