/** Returns the time limit of a program and its setting, for messages. */
export function timeLimitText(milliseconds: number): string {
  return `${durationText(milliseconds)} (app-runtime.time_limit_ms)`
}

export function durationText(milliseconds: number): string {
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000} s` : `${milliseconds} ms`
}
