// Whether anything has happened to pools or datasets since they were read. It is known as long as ZFS' events are heard
// without a gap; what has no event (a size, a ratio) is not meant.

/** Of one moment; null: it was not known what happens. */
export type Mark = number | null;

export class PoolChanges {
  #listening = false;
  #states = 0;
  #datasets = 0;

  /** @param listening whether events are heard from now on; what happened before that is not known */
  heard(listening: boolean): void {
    if (this.#listening !== listening) this.happened();
    this.#listening = listening;
  }

  /** `datasets`: no pool is in another state. */
  happened(to?: 'datasets'): void {
    this.#datasets++;
    if (to === undefined) this.#states++;
  }

  /** Take it before reading: the reading holds as long as a later mark is the same. */
  pools(): Mark {
    return this.#listening ? this.#states : null;
  }

  datasets(): Mark {
    return this.#listening ? this.#datasets : null;
  }
}
