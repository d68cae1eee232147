// What went over the wire while something was sent, line by line, for the test button.
import type { ExchangeLine } from './schema.ts';

export type OnLine = (direction: ExchangeLine['direction'], text: string) => void;
