// Who delivers to destinations: they exist before the outbox, which registers with them.
export interface Delivery {
  /** Subscribes a new destination: it gets what is raised from now on. */
  join(id: string): Promise<void>;
  /** Begins to deliver to a destination that has joined, or tries again with its new settings. */
  attend(id: string): void;
  /** Stops delivering to a destination and gives up its place. */
  leave(id: string): Promise<void>;
}

export class Deliveries implements Delivery {
  #by: Delivery | null = null;

  /** Called once. */
  doneBy(delivery: Delivery): void {
    this.#by = delivery;
  }

  async join(id: string): Promise<void> {
    await this.#by?.join(id);
  }

  attend(id: string): void {
    this.#by?.attend(id);
  }

  async leave(id: string): Promise<void> {
    await this.#by?.leave(id);
  }
}
