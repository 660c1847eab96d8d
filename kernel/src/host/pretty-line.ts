/** An error as the log writes it. */
interface LoggedError {
  readonly message: string
  readonly code?: string
  readonly hint?: string
  readonly stack?: string
  readonly cause?: unknown
  readonly errors?: readonly unknown[]
}

// Tabs and line breaks stay: stacks have them.
// biome-ignore lint/suspicious/noControlCharactersInRegex: text of clients must not control a terminal
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g

/**
 * A log line for a person: the event and its subject on one line, then the next step, and details of an error. No text
 * appears twice.
 */
export function prettyLine(line: Readonly<Record<string, unknown>>): string {
  const { level: _level, time: _time, plugin, msg, hint, ...fields } = line
  const text = String(msg ?? '')
  const said = [text]
  const behind: string[] = []
  const below: string[] = []
  for (const [key, value] of Object.entries(fields)) {
    if (!isError(value)) behind.push(...field(key, value))
    else {
      if (text.includes(value.message)) behind.push(...field('code', value.code))
      below.push(...additions(value, said))
    }
  }
  if (hint !== undefined) below.push(...news(`hint: ${hint}`, said))
  const owner = plugin === undefined ? '' : `[${plugin}] `
  // Errors of a plugin repeat its name, which this line has already.
  const own = text.startsWith(`${plugin}: `) ? text.slice(`${plugin}: `.length) : text
  const [head, ...excerpt] = own.split('\n')
  const first = [`${owner}${head}`, ...behind].join('  ')
  // Lines of source keep their columns, since a mark below points at one.
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

function additions(error: unknown, said: string[], lead = ''): string[] {
  if (!isError(error)) return news(`${lead}${String(error)}`, said)
  const { message, code, hint, stack, cause, errors = [] } = error
  const own = stack ?? (code === undefined ? message : `${message} (${code})`)
  return [
    ...(stack === undefined && said.some(each => each.includes(message)) ? [] : news(`${lead}${own}`, said)),
    ...(hint === undefined ? [] : news(`hint: ${hint}`, said)),
    ...(cause === undefined ? [] : additions(cause, said, 'caused by: ')),
    ...errors.flatMap(each => additions(each, said, 'and: '))
  ]
}

/** A text that has not appeared before. */
function news(text: string, said: string[]): string[] {
  if (said.includes(text)) return []
  said.push(text)
  return text.split('\n')
}
