/** Distinct lines of level error and above in a JSON log, with the plugin unless the text names it. */
export function complaintsOf(log: string): string[] {
  const told = log.split('\n').flatMap(line => complaint(line) ?? [])
  return [...new Set(told)]
}

/** Pino's number for `error`. */
const ERROR_LEVEL = 50

function complaint(line: string): string | undefined {
  try {
    const { level, plugin, msg } = JSON.parse(line) as { level?: unknown; plugin?: unknown; msg?: unknown }
    if (typeof level !== 'number' || level < ERROR_LEVEL || typeof msg !== 'string') return undefined
    return typeof plugin !== 'string' || msg.startsWith(`${plugin}:`) ? msg : `${plugin}: ${msg}`
  } catch {
    // A partial line, or output of another program.
    return undefined
  }
}
