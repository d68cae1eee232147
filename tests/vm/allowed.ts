// Lines of the journal that a machine may write in any test. Each has its reason; what a test provokes it declares itself.
export const allowed: readonly (readonly [line: RegExp, reason: string])[] = [];
