/** A value at a time, in milliseconds. */
export type Point = readonly [time: number, value: number]

const MAX_POINTS = 400

/** Theil-Sen estimate: the median of the slopes of all pairs, per hour. Single outliers do not move it. NaN below three points. */
export function slopePerHour(points: readonly Point[]): number {
  const step = Math.ceil(points.length / MAX_POINTS)
  const used = points.filter((_, index) => index % step === 0)
  if (used.length < 3) return Number.NaN
  const slopes: number[] = []
  for (let a = 0; a < used.length; a++)
    for (let b = a + 1; b < used.length; b++) {
      const [[fromTime, from], [toTime, to]] = [used[a] as Point, used[b] as Point]
      if (toTime > fromTime) slopes.push(((to - from) / (toTime - fromTime)) * 3_600_000)
    }
  slopes.sort((a, b) => a - b)
  const upper = slopes[Math.floor(slopes.length / 2)] as number
  return slopes.length % 2 === 1 ? upper : (upper + (slopes[slopes.length / 2 - 1] as number)) / 2
}
