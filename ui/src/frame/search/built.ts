// What the build has put together for searching (ui/search.ts).
/** A part of the settings, and the labels of the fields by which it is set. */
export interface FoundSetting {
  readonly title: string;
  readonly path: string;
  readonly fields: readonly string[];
}

export interface ManualSection {
  readonly title: string;
  /** Of the page that it is on. */
  readonly page: string;
  readonly path: string;
}
