import type { DaemonState } from '@svc/contracts'
import type { CommandIo } from '@svc/plugin-sdk'

/** Prints the JSON document with `--json`, else the text. */
export function report(io: CommandIo, document: object, text: string): void {
  io.stdout.write(`${io.json ? JSON.stringify(document) : text}\n`)
}

export function describe({ pid, socket, repository_id }: DaemonState): string {
  return `process ${pid} at ${socket}, of ${repository_id}`
}

/** Formats a duration: `2 d 3 h`, `3 h 4 min`, `4 min 5 s`, `5 s`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds))
  const parts: [number, string][] = [
    [Math.floor(whole / 86_400), 'd'],
    [Math.floor(whole / 3_600) % 24, 'h'],
    [Math.floor(whole / 60) % 60, 'min'],
    [whole % 60, 's']
  ]
  const first = parts.findIndex(([count]) => count > 0)
  if (first === -1) return '0 s'
  return parts
    .slice(first, first + 2)
    .map(([count, unit]) => `${count} ${unit}`)
    .join(' ')
}
