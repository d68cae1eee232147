// What the fields of each kind are handed.
import type { Output, OutputDraft } from './output.ts';

export interface OutputFieldsProps {
  readonly draft: OutputDraft;
  readonly set: (change: Partial<OutputDraft>) => void;
  /** What is wrong with a field, by its path. */
  readonly at: (path: string) => string | undefined;
  readonly existing: Output | undefined;
}
