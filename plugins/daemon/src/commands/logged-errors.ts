/**
 * Returns the distinct messages of level error and above in a JSON log, prefixed by the plugin if they do not name it.
 */
export function loggedErrors(log: string): string[] {
  const messages = log.split('\n').flatMap(line => errorIn(line) ?? [])
  return [...new Set(messages)]
}

/** Pino's number for `error`. */
const ERROR_LEVEL = 50

function errorIn(line: string): string | undefined {
  try {
    const { level, plugin, msg } = JSON.parse(line) as { level?: unknown; plugin?: unknown; msg?: unknown }
    if (typeof level !== 'number' || level < ERROR_LEVEL || typeof msg !== 'string') return undefined
    return typeof plugin !== 'string' || msg.startsWith(`${plugin}:`) ? msg : `${plugin}: ${msg}`
  } catch {
    // The line is incomplete, or output of another program.
    return undefined
  }
}
