// What the appliance does only for somebody who has given the password lately: the page asks for it, and the request is made
// again. Who shows the question registers it here.
type Ask = (why: string) => Promise<boolean>;

let ask: Ask | null = null;
let asking: Promise<boolean> | null = null;

export function whoAsks(one: Ask | null): void {
  ask = one;
}

/** Whether the password was given. Several requests at once ask once. */
export async function confirmed(why: string): Promise<boolean> {
  if (ask === null) return false;
  asking ??= ask(why).finally(() => {
    asking = null;
  });
  return asking;
}
