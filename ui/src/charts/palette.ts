// Colours of charts. Series: told apart by eyes with any common colour blindness, on both backgrounds. Heatmaps: one hue,
// so that darker (lighter, on dark) can only mean more.

const onLight = ['#0066cc', '#b35c00', '#3d7a2f', '#8b46a8', '#007a87', '#a8324a', '#6b5b00', '#5a5a8c'];
const onDark = ['#73b4ff', '#f2a65a', '#8fd17f', '#d3a0ea', '#5fd0dc', '#ff8fa3', '#dccb5a', '#b5b5e8'];

export function seriesColour(index: number, dark: boolean): string {
  const colours = dark ? onDark : onLight;
  return colours[index % colours.length] as string;
}

type Rgb = readonly [number, number, number];
const rampOnLight: readonly Rgb[] = [
  [219, 233, 247],
  [124, 175, 222],
  [37, 106, 176],
  [6, 40, 92],
];
const rampOnDark: readonly Rgb[] = [
  [24, 50, 78],
  [38, 98, 156],
  [102, 168, 224],
  [230, 243, 255],
];

/** The colour of a shade, 0 (hardly anything) to 1 (the most). No shade at all is the background, not a colour. */
export function rampColour(shade: number, dark: boolean): Rgb {
  const stops = dark ? rampOnDark : rampOnLight;
  const at = Math.min(Math.max(shade, 0), 1) * (stops.length - 1);
  const below = Math.min(Math.floor(at), stops.length - 2);
  const [a, b] = [stops[below] as Rgb, stops[below + 1] as Rgb];
  const mix = (i: 0 | 1 | 2) => Math.round(a[i] + (b[i] - a[i]) * (at - below));
  return [mix(0), mix(1), mix(2)];
}

export interface ChartColours {
  readonly text: string;
  readonly grid: string;
  readonly limit: string;
  /** Of what happened: alerts, snapshots, changes. */
  readonly mark: string;
  readonly warning: string;
  readonly critical: string;
  /** What is not highlighted, and what is summed up as the rest. */
  readonly dim: string;
}
export function chartColours(dark: boolean): ChartColours {
  return dark
    ? {
        text: '#c7c7c7',
        grid: '#3c3f42',
        limit: '#f89b78',
        mark: '#a3a3a3',
        warning: '#ffcc17',
        critical: '#f0746c',
        dim: '#5e6164',
      }
    : {
        text: '#4d4d4d',
        grid: '#e0e0e0',
        limit: '#b1380b',
        mark: '#6a6e73',
        warning: '#8c6500',
        critical: '#b1380b',
        dim: '#c2c4c6',
      };
}
