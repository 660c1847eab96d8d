import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import { compilerErrors } from '../../errors.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { EmittedFile } from '../../typescript/emitted-file.ts'
import { header } from '../../typescript/header.ts'
import { literal } from '../../typescript/names.ts'
import { itemsOf, type WebModule } from '../web-module.ts'

/** Name of the design token file next to a program. */
export const TOKENS_FILE = 'vox.tokens.json'

type Variable = readonly [name: string, value: string]

/**
 * Generates `vox-tokens.css` with a CSS variable for each token, and `tokens.ts` with a constant for each. Groups
 * become prefixes: `{"color": {"brand": "#06c"}}` becomes `--color-brand`, as does `@tokens Color { brand: "#06c" }`. A
 * token is a value, or an object with `$value` or `value` (Design Tokens Community Group format). Throws
 * `CMP_TOKENS_INVALID`.
 */
export function tokensFiles(
  web: WebModule,
  tokensFile: { readonly path: string; readonly text: string } | null
): { files: EmittedFile[]; diagnostics: Diagnostic[] } {
  const diagnostics: Diagnostic[] = []
  const declared = itemsOf(web.module, 'AppHook').flatMap(({ hook, name, entries }): Variable[] => {
    if (hook !== 'tokens') return []
    const group = name === null ? [] : [kebabCase(name.text)]
    return entries.flatMap((entry): Variable[] => {
      const value = tokenOf(entry.value)
      if (value !== null) return [[[...group, kebabCase(entry.name.text)].join('-'), cssValue(value)]]
      diagnostics.push(diagnostic('web.token_value', `\`${entry.name.text}\` is not a CSS value`, entry.value))
      return []
    })
  })
  const variables = [...(tokensFile === null ? [] : documentVariables(tokensFile.text, tokensFile.path)), ...declared]
  if (variables.length === 0 && tokensFile === null) return { files: [], diagnostics }
  const lines = variables.map(([name, value]) => `  --${name}: ${value};\n`)
  const origin = tokensFile === null ? `${web.name}.vox` : TOKENS_FILE
  const head = `/* Generated from ${origin} by svc build; the next build overwrites it. */\n\n`
  const constants = variables.map(([name]) => `  ${literal(name)}: ${literal(`var(--${name})`)}`)
  const files = [
    { path: 'vox-tokens.css', text: `${head}:root {\n${lines.join('')}}\n` },
    { path: 'tokens.ts', text: `${header(web.name)}\nexport const tokens = {\n${constants.join(',\n')}\n} as const\n` }
  ]
  return { files, diagnostics }
}

function documentVariables(text: string, path: string): Variable[] {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch (cause) {
    throw invalid(path, cause instanceof Error ? cause.message : String(cause))
  }
  if (!isGroup(document)) throw invalid(path, 'the document is not an object')
  return variablesOf(document, [], path)
}

/** Returns the value of a literal; null for other expressions. */
function tokenOf(value: Expression): string | number | null {
  if (value.kind === 'Int' || value.kind === 'Float') return Number(value.digits)
  return value.kind === 'String' && isValue(value.value) ? value.value : null
}

/** True if a value cannot end its declaration, so that a token cannot add CSS rules. */
function isValue(token: string): boolean {
  return !/[;{}\n]|\*\//.test(token.replace(/\{[\w.-]+\}/g, ''))
}

type Group = Readonly<Record<string, unknown>>

function variablesOf(group: Group, names: readonly string[], path: string): Variable[] {
  return Object.entries(group).flatMap(([key, value]): Variable[] => {
    if (key.startsWith('$')) return []
    const inner = [...names, kebabCase(key)]
    const token = isGroup(value) ? (value.$value ?? value.value) : value
    if (isGroup(value) && (token === undefined || isGroup(token))) return variablesOf(value, inner, path)
    const tokenPath = inner.join('.')
    if (typeof token !== 'string' && typeof token !== 'number')
      throw invalid(path, `${tokenPath} is not a string or a number`)
    if (typeof token === 'string' && !isValue(token)) {
      throw invalid(path, `${tokenPath} has a character that CSS values cannot have`)
    }
    return [[inner.join('-'), cssValue(token)]]
  })
}

/** Replaces references: `{color.brand}` becomes the variable of that token. */
function cssValue(token: string | number): string {
  if (typeof token === 'number') return String(token)
  return token.replace(/\{([\w.-]+)\}/g, (_, name: string) => `var(--${name.split('.').map(kebabCase).join('-')})`)
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

function invalid(path: string, problem: string): Error {
  return compilerErrors.create('CMP_TOKENS_INVALID', `${path} has invalid design tokens: ${problem}`, {
    hint: 'write an object of groups and values, such as {"color": {"brand": "#06c"}}; nothing was written',
    at: { file: path }
  })
}
