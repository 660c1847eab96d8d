import { compilerErrors } from '../../errors.ts'
import type { EmittedFile } from '../emitted-file.ts'

/** Name of the file beside a program that has its design tokens. */
export const TOKENS_FILE = 'vox.tokens.json'

/**
 * `vox-tokens.css`: a variable for each token. Groups become parts of names: `{"color": {"brand": "#06c"}}` is
 * `--color-brand`. A token may be a value, or an object with it as `$value` or `value`, as the community group for design
 * tokens writes them. Throws `CMP_TOKENS_INVALID`.
 */
export function tokensFile(text: string, path: string): EmittedFile {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause))
  }
  if (!isGroup(document)) throw invalid(path, 'it is no object')
  const variables = variablesOf(document, [], path)
  const lines = variables.map(([name, value]) => `  --${name}: ${value};\n`)
  const head = `/* Generated from ${TOKENS_FILE} by svc build; the next build writes it anew. */\n\n`
  return { path: 'vox-tokens.css', text: `${head}:root {\n${lines.join('')}}\n` }
}

type Group = Readonly<Record<string, unknown>>

function variablesOf(group: Group, names: readonly string[], path: string): [string, string][] {
  return Object.entries(group).flatMap(([key, value]): [string, string][] => {
    if (key.startsWith('$')) return []
    const inner = [...names, kebabCase(key)]
    const token = isGroup(value) ? (value.$value ?? value.value) : value
    if (isGroup(value) && (token === undefined || isGroup(token))) return variablesOf(value, inner, path)
    const shown = inner.join('.')
    if (typeof token !== 'string' && typeof token !== 'number') throw invalid(path, `${shown} is no text or number`)
    // A value ends where the declaration ends, so that no token adds rules of its own.
    if (typeof token === 'string' && /[;{}\n]|\*\//.test(withoutReference(token))) {
      throw invalid(path, `${shown} has a character that no value of CSS has`)
    }
    return [[inner.join('-'), cssValue(token)]]
  })
}

/** `{color.brand}` of a token is the variable of that token. */
function cssValue(token: string | number): string {
  if (typeof token === 'number') return String(token)
  return token.replace(/\{([\w.-]+)\}/g, (_, name: string) => `var(--${name.split('.').map(kebabCase).join('-')})`)
}

function withoutReference(token: string): string {
  return token.replace(/\{[\w.-]+\}/g, '')
}

function isGroup(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function kebabCase(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .replace(/[^A-Za-z0-9]+/g, '-')
    .toLowerCase()
}

function invalid(path: string, why: string): Error {
  return compilerErrors.create('CMP_TOKENS_INVALID', `${path} has no design tokens: ${why}`, {
    hint: 'write an object of groups and values, such as {"color": {"brand": "#06c"}}; nothing was written',
    at: { file: path }
  })
}
