declare module 'virtual:search' {
  export const settings: readonly import('./built.ts').FoundSetting[];
  export const sections: readonly import('./built.ts').ManualSection[];
}
