/** One line of the log, as pino writes it. */
export interface LogEntry {
  /** ISO 8601. */
  readonly time: string
  readonly level: LogLevel
  readonly plugin: string | null
  readonly message: string
  /** All other fields of the line. */
  readonly fields: Readonly<Record<string, unknown>>
}

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** Level numbers of pino: 10 for the first level, 20 for the next. */
const PINO_STEP = 10

/** Returns null for a line that is not a log entry. */
export function parseLogEntry(line: string): LogEntry | null {
  if (!line.startsWith('{')) return null
  let parsed: Record<string, unknown>
  try {
    parsed = JSON.parse(line)
  } catch {
    return null
  }
  const { time, level, plugin, msg, ...fields } = parsed
  const name = LOG_LEVELS[Number(level) / PINO_STEP - 1]
  if (name === undefined || typeof time !== 'string') return null
  return { time, level: name, plugin: typeof plugin === 'string' ? plugin : null, message: String(msg ?? ''), fields }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: text of clients must not control a terminal
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/** Formats an entry for a terminal; hints and stacks follow on separate lines. */
export function renderLogEntry({ time, level, plugin, message, fields }: LogEntry): string {
  const { hint, error, ...rest } = fields
  const owner = plugin === null ? '' : `[${plugin}] `
  const head = `${time} ${level.toUpperCase().padEnd(5)} ${owner}${message}`
  const shown = Object.entries(rest).map(
    ([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`
  )
  const { message: cause, stack } = (error ?? {}) as { readonly message?: unknown; readonly stack?: unknown }
  const below = typeof stack === 'string' ? stack : typeof cause === 'string' && !message.includes(cause) ? cause : null
  return [
    [head, ...shown].join('  '),
    ...(below === null ? [] : below.split('\n').map(line => `    ${line}`)),
    ...(hint === undefined ? [] : [`    hint: ${String(hint)}`])
  ]
    .join('\n')
    .replace(CONTROL, '')
}

/** Returns the fields of an entry except its request id, as one text. */
export function renderDetails({ fields }: LogEntry): string {
  const { request_id: _request, ...rest } = fields
  return Object.entries(rest)
    .map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join('  ')
}
