// What an alert class is. Every domain declares its own in its `alerts.ts`; what is declared there is what the pages, the
// mails and the traps say, and alerts have their texts nowhere else. docs/manual/alerts.md is printed from those lists.
import type { Severity } from './severity.ts';

export interface AlertClass<Args> {
  /** Stable: rules, filters and traps compare it. */
  readonly class: string;
  readonly severity: (args: Args) => Severity;
  /** All that it can have, when it is not always the same. */
  readonly severities?: readonly Severity[];
  readonly title: (args: Args) => string;
  readonly text: (args: Args) => string;
  /** What it means for the users of the appliance. */
  readonly impact: (args: Args) => string;
  /** What the appliance does about it. */
  readonly response: (args: Args) => string;
  /** What the reader should do. */
  readonly action: (args: Args) => string;
  /** The page of the web interface to go to. */
  readonly page: (args: Args) => string;
  readonly labels: (args: Args) => Record<string, string>;
  /** The same trouble has the same key, and is never active twice. */
  readonly dedupKey: (args: Args) => string;
  readonly dedupExample: string;
  /** Arguments as they could be: the page of all classes and docs/manual/alerts.md show what such an alert says. */
  readonly example: Args;
  /** Keys of alerts that explain this one: while one of them is active, this one is not raised. */
  readonly dependsOn: (args: Args) => string[];
  /** How long it has to last before it is raised: shorter trouble needs no one. */
  readonly visibleAfterSeconds: number;
  /** A transient event, not a condition: it is never active. */
  readonly transient?: boolean;
  /** Of a class that rules raise: what the title of many says behind the name of the rule. */
  readonly together?: string;
  /** Kept in the log and not sent, unless it is set otherwise. */
  readonly muted?: boolean;
  /** As long as it is muted and has no action it is not looked for, and not in the log either. */
  readonly optional?: boolean;
}

/** One of any arguments, for lists of many. */
// biome-ignore lint/suspicious/noExplicitAny: each class has arguments of its own, and goes with its own example only
export type AnyAlertClass = AlertClass<any>;

export const alertClass = <Args>(declared: AlertClass<Args>): AlertClass<Args> => declared;
