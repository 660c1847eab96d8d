const LEVELS: Readonly<Record<number, string>> = {
  10: 'TRACE',
  20: 'DEBUG',
  30: 'INFO',
  40: 'WARN',
  50: 'ERROR',
  60: 'FATAL'
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: text of clients must not control a terminal
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/** Formats a JSON log line for a terminal. Other lines, such as a crash report of Node, stay unchanged. */
export function logLine(line: string): string {
  return render(line).replace(CONTROL, '')
}

function render(line: string): string {
  const entry = parse(line)
  if (entry === null) return line
  const { level, time, plugin, msg, hint, error, ...fields } = entry
  const message = String(msg ?? '')
  const shown = Object.entries(fields).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`
  )
  const stack = (error as { stack?: unknown } | undefined)?.stack
  return [
    [
      timeText(time),
      levelText(level),
      ...(plugin === undefined ? [] : [`[${String(plugin)}]`]),
      message,
      ...shown
    ].join(' '),
    ...(hint === undefined ? [] : [`    hint: ${String(hint)}`]),
    ...(typeof stack === 'string' ? stack.split('\n').map(each => `    ${each}`) : [])
  ].join('\n')
}

function parse(line: string): Readonly<Record<string, unknown>> | null {
  if (!line.startsWith('{')) return null
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>
  } catch {
    return null
  }
}

function timeText(time: unknown): string {
  const at = typeof time === 'number' || typeof time === 'string' ? new Date(time) : new Date(Number.NaN)
  return Number.isNaN(at.getTime()) ? '' : at.toISOString()
}

function levelText(level: unknown): string {
  return (typeof level === 'number' ? LEVELS[level] : undefined) ?? String(level).toUpperCase()
}
