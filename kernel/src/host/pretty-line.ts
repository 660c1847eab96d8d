/** Error in the form that the log writes. */
interface LoggedError {
  readonly message: string
  readonly code?: string
  readonly hint?: string
  readonly stack?: string
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

// Control characters except tab and line feed, which stacks contain.
// biome-ignore lint/suspicious/noControlCharactersInRegex: text of clients must not control a terminal
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * Formats a log line for a terminal: message and fields on one line, then hint and error details on further lines. No
 * text is repeated.
 */
export function prettyLine(line: Readonly<Record<string, unknown>>): string {
  const { level: _level, time: _time, plugin, msg, hint, ...fields } = line
  const text = String(msg ?? '')
  const written = [text]
  const inline: string[] = []
  const below: string[] = []
  for (const [key, value] of Object.entries(fields)) {
    if (!isError(value)) inline.push(...field(key, value))
    else {
      if (text.includes(value.message)) inline.push(...field('code', value.code))
      below.push(...additions(value, written))
    }
  }
  if (hint !== undefined) below.push(...unwritten(`hint: ${hint}`, written))
  const owner = plugin === undefined ? '' : `[${plugin}] `
  // Messages of a plugin's errors start with its name, which this line already shows.
  const own = text.startsWith(`${plugin}: `) ? text.slice(`${plugin}: `.length) : text
  const [head, ...excerpt] = own.split('\n')
  const first = [`${owner}${head}`, ...inline].join('  ')
  // Source excerpts are not indented, since a mark on the next line points at a column.
  return [[first, ...excerpt].join('\n'), ...below].join('\n    ').replace(CONTROL, '')
}

function field(key: string, value: unknown): string[] {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return []
  const words = Array.isArray(value) && value.every(isWord) ? value.join(',') : value
  return [`${key}=${isWord(words) ? words : JSON.stringify(words)}`]
}

function isWord(value: unknown): value is string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value)
}

function isError(value: unknown): value is LoggedError {
  return typeof value === 'object' && value !== null && typeof (value as LoggedError).message === 'string'
}

function additions(error: unknown, written: string[], lead = ''): string[] {
  if (!isError(error)) return unwritten(`${lead}${String(error)}`, written)
  const { message, code, hint, stack, cause, errors = [] } = error
  const own = stack ?? (code === undefined ? message : `${message} (${code})`)
  return [
    ...(stack === undefined && written.some(each => each.includes(message)) ? [] : unwritten(`${lead}${own}`, written)),
    ...(hint === undefined ? [] : unwritten(`hint: ${hint}`, written)),
    ...(cause === undefined ? [] : additions(cause, written, 'caused by: ')),
    ...errors.flatMap(each => additions(each, written, 'and: '))
  ]
}

/** Returns the lines of `text`, or none if it was already written. */
function unwritten(text: string, written: string[]): string[] {
  if (written.includes(text)) return []
  written.push(text)
  return text.split('\n')
}
