import type { LogLine } from './svc-node.ts'

const CRASH = /unhandledRejection|uncaughtException|unhandled rejection|uncaught exception|ERR_UNHANDLED/i

/** True for the log line of a failed request, whose answer the client judges. Nodes are the clients of the control plane. */
function isRequest({ plugin, text, listener }: LogLine): boolean {
  return plugin === 'http' && text === 'request' && listener !== 'mesh'
}

/** True for an error that needs a fault as its cause. */
export function isLoggedError(line: LogLine | null): line is LogLine {
  return line !== null && line.level >= 50 && !isRequest(line)
}

/**
 * Returns what is wrong with a line that a node printed, or null. Errors need a fault, and nothing else than lines of the log is
 * printed.
 */
export function logViolation(line: LogLine | null, raw: string, isDisturbed: () => boolean): string | null {
  if (CRASH.test(raw)) return raw
  if (line === null) return `not a line of the log: ${raw}`
  return isLoggedError(line) && !isDisturbed() ? `${line.plugin}: ${line.code} ${line.text}` : null
}
