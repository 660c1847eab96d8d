import { spawn } from 'node:child_process'
import type { LanguageCompiler } from '@svc/contracts'
import { parse as parseToml, TomlError } from 'smol-toml'
import { LineCounter, parseAllDocuments } from 'yaml'
import { workspaceErrors } from './errors.ts'

/** Problem of a text. Lines and columns are counted from 1; null if the checker reports none. */
export interface Problem {
  readonly line: number | null
  readonly column: number | null
  readonly severity: 'error' | 'warning'
  readonly message: string
}

export interface Checkers {
  /** Compiler of the vox language; undefined if its plugin is not active. */
  readonly compiler: LanguageCompiler | undefined
  readonly signal: AbortSignal
}

type Check = (text: string, name: string, checkers: Checkers) => readonly Problem[] | Promise<readonly Problem[]>

const CHECKS = { vox, json, toml, yaml, javascript } as const satisfies Readonly<Record<string, Check>>

export type Language = keyof typeof CHECKS
export const LANGUAGES = Object.keys(CHECKS) as readonly Language[]

const ENDINGS: Readonly<Record<string, Language>> = {
  vox: 'vox',
  json: 'json',
  toml: 'toml',
  yaml: 'yaml',
  yml: 'yaml',
  js: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript'
}

/** Returns the language of a file by the ending of its name. Throws `WSP_LANGUAGE_UNKNOWN`. */
export function languageOf(path: string): Language {
  const ending = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  const language = ENDINGS[ending]
  if (language !== undefined) return language
  throw workspaceErrors.create('WSP_LANGUAGE_UNKNOWN', `${path.slice(0, 200)}: no check exists for this kind of file`, {
    hint: `files with these endings can be checked: ${Object.keys(ENDINGS).join(', ')}`
  })
}

/** Checks the syntax of a text; for vox also its types. Nothing of it is run. */
export async function validate(language: Language, text: string, name: string, checkers: Checkers) {
  return CHECKS[language](text, name, checkers)
}

async function vox(text: string, name: string, { compiler }: Checkers): Promise<readonly Problem[]> {
  if (compiler === undefined)
    throw workspaceErrors.create('WSP_LANGUAGE_UNKNOWN', 'vox cannot be checked: the plugin compiler is not active', {
      hint: 'svc plugins why compiler shows the reason'
    })
  const result = await compiler.compile({ path: name, text }, { script: true })
  if (result.ok) return []
  return result.diagnostics.map(each => {
    const { message, severity, span } = each as {
      readonly message?: unknown
      readonly severity?: unknown
      readonly span?: { readonly start_line?: number; readonly start_col?: number }
    }
    return {
      line: span?.start_line ?? null,
      column: span?.start_col ?? null,
      severity: severity === 'Warning' ? 'warning' : 'error',
      message: String(message)
    }
  })
}

function json(text: string): readonly Problem[] {
  try {
    JSON.parse(text)
    return []
  } catch (error) {
    const { message } = error as Error
    const position = /position (\d+)/.exec(message)?.[1]
    return [{ ...placeAt(text, position === undefined ? text.length : Number(position)), severity: 'error', message }]
  }
}

function toml(text: string): readonly Problem[] {
  try {
    parseToml(text)
    return []
  } catch (error) {
    if (!(error instanceof TomlError)) throw error
    const [message = ''] = error.message.split('\n')
    return [{ line: error.line, column: error.column, severity: 'error', message }]
  }
}

function yaml(text: string): readonly Problem[] {
  const lines = new LineCounter()
  const documents = parseAllDocuments(text, { lineCounter: lines, prettyErrors: false })
  if (!Array.isArray(documents)) return []
  return documents.flatMap(({ errors, warnings }) =>
    [...errors, ...warnings].map(({ name, message, pos }) => {
      const { line, col } = lines.linePos(pos[0])
      return {
        line,
        column: col,
        severity: name === 'YAMLWarning' ? ('warning' as const) : ('error' as const),
        message
      }
    })
  )
}

const CHECK_TIMEOUT_MS = 10_000

/** Parses with Node in another process, as a module if the name or the text says so. */
async function javascript(text: string, name: string, { signal }: Checkers): Promise<readonly Problem[]> {
  const isModule = name.endsWith('.mjs') || (!name.endsWith('.cjs') && /^\s*(?:import|export)\b/m.test(text))
  const type = isModule ? 'module' : 'commonjs'
  const child = spawn(process.execPath, ['--check', `--input-type=${type}`, '-'], {
    env: { PATH: process.env.PATH },
    stdio: ['pipe', 'ignore', 'pipe'],
    timeout: CHECK_TIMEOUT_MS,
    signal
  })
  let output = ''
  child.stderr.on('data', (chunk: Buffer) => {
    if (output.length < 65_536) output += chunk.toString()
  })
  // Node may exit before it reads all of its input.
  child.stdin.on('error', () => {})
  child.stdin.end(text)
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  if (code === 0) return []
  if (code === null) {
    const message = `the check did not finish; its time limit is ${CHECK_TIMEOUT_MS} ms`
    return [{ line: null, column: null, severity: 'error', message }]
  }
  const line = /^(?:\[stdin\]|.*?):(\d+)$/m.exec(output)?.[1]
  const caret = /^( *)\^+$/m.exec(output)?.[1]
  const message = /^(?:\w*Error): .*$/m.exec(output)?.[0] ?? 'the text cannot be parsed'
  return [
    {
      line: line === undefined ? null : Number(line),
      column: caret === undefined ? null : caret.length + 1,
      severity: 'error',
      message
    }
  ]
}

function placeAt(text: string, offset: number): Pick<Problem, 'line' | 'column'> {
  const before = text.slice(0, offset).split('\n')
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 }
}
