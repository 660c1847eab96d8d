/** Lines of the level error and above in a log of JSON lines, each told once, with the plugin where the text does not name it. */
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
    // Half a line, or output of another program.
    return undefined
  }
}
