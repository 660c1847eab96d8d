import { readFileSync, statSync } from 'node:fs'
import { errorMessage } from '@svc/plugin-sdk'
import { commandErrors } from './errors.ts'

const MAX_FILE_BYTES = 1_048_576
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/**
 * Parses lines `KEY=value`, with `export` before them, `#` comments and quotes. A later line wins. Throws
 * `SCR_FILE_INVALID` with the number of the line, never its text.
 */
export function parseEnv(text: string, file: string): Map<string, string> {
  const values = new Map<string, string>()
  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .entries()) {
    const trimmed = line.trim()
    if (trimmed === '' || trimmed.startsWith('#')) continue
    const equals = trimmed.indexOf('=')
    const name = trimmed
      .slice(0, Math.max(equals, 0))
      .replace(/^export\s+/, '')
      .trim()
    const value = equals === -1 || !NAME.test(name) ? null : parseValue(trimmed.slice(equals + 1).trim())
    if (value === null)
      throw commandErrors.create('SCR_FILE_INVALID', `${file}:${index + 1}: not a line of the form KEY=value`, {
        at: { file, line: index + 1 },
        hint: 'write KEY=value, KEY="value" or a comment that begins with #'
      })
    values.set(name, value)
  }
  return values
}

/** Reads and parses a file; null if it does not exist. Throws `SCR_FILE_INVALID`. */
export function readEnvFile(file: string): Map<string, string> | null {
  const stats = statSync(file, { throwIfNoEntry: false })
  if (stats === undefined) return null
  const refuse = (why: string): Error =>
    commandErrors.create('SCR_FILE_INVALID', `${file}: ${why}`, { at: { file }, hint: 'name another file' })
  if (!stats.isFile()) throw refuse('not a file')
  if (stats.size > MAX_FILE_BYTES) throw refuse(`larger than ${MAX_FILE_BYTES} bytes`)
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw refuse(errorMessage(error))
  }
  return parseEnv(text, file)
}

/** Returns a line for {@link parseEnv}; null if no line can hold the value. */
export function envLine(name: string, value: string): string | null {
  if (/[\r\n]/.test(value)) return null
  if (/^[A-Za-z0-9_./:@%+,=-]*$/.test(value)) return `${name}=${value}`
  return `${name}="${value.replace(/[\\"]/g, '\\$&')}"`
}

/** Returns the value of the text after `=`; null for a quote without end, or with text after it. */
function parseValue(text: string): string | null {
  if (text.startsWith('"')) {
    const match = /^"((?:[^"\\]|\\.)*)"\s*(?:#.*)?$/.exec(text)
    return match?.[1] === undefined ? null : match[1].replace(/\\(.)/g, unescaped)
  }
  if (text.startsWith("'")) return /^'([^']*)'\s*(?:#.*)?$/.exec(text)?.[1] ?? null
  // A pattern with \s+ would take quadratic time for a long run of spaces.
  const comment = text.search(/\s#/)
  return comment === -1 ? text : text.slice(0, comment).trimEnd()
}

function unescaped(_match: string, character: string): string {
  return { n: '\n', r: '\r', t: '\t' }[character] ?? character
}
