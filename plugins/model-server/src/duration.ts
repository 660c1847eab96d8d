const UNIT_MS: Readonly<Record<string, number>> = { ns: 1e-6, us: 1e-3, µs: 1e-3, ms: 1, s: 1e3, m: 60e3, h: 3_600e3 }

/** Pattern of durations: whole seconds, or parts such as `1h30m`, with an optional sign. */
export const DURATION = '^[+-]?(\\d+|((\\d+(\\.\\d*)?|\\.\\d+)(ns|us|µs|ms|s|m|h))+)$'

const pattern = new RegExp(DURATION)

/** Returns milliseconds: infinity for a negative duration, undefined for text that is not a duration. */
export function durationMs(text: string): number | undefined {
  if (!pattern.test(text)) return undefined
  const parts = [...text.matchAll(/([\d.]+)([nuµm]?s|m|h)/g)]
  const sum = parts.reduce((total, [, count, unit = '']) => total + Number(count) * (UNIT_MS[unit] as number), 0)
  const milliseconds = parts.length === 0 ? Math.abs(Number(text)) * 1000 : sum
  return text.startsWith('-') && milliseconds > 0 ? Number.POSITIVE_INFINITY : milliseconds
}
