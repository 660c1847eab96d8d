import { type LanguageCompiler, startChild } from '@svc/contracts'
import { errorMessage } from '@svc/plugin-sdk'
import { workspaceErrors } from './errors.ts'
import type { ParsedLanguage, Problem } from './syntax-problems.ts'
import { CHECK_TIMEOUT_MS, checkSyntax, unfinished } from './syntax-thread.ts'

export interface Checkers {
  /** Compiler of the vox language; undefined if its plugin is not active. */
  readonly compiler: LanguageCompiler | undefined
  readonly signal: AbortSignal
}

type Check = (text: string, name: string, checkers: Checkers) => readonly Problem[] | Promise<readonly Problem[]>

const parsed =
  (language: ParsedLanguage): Check =>
  (text, _, { signal }) =>
    checkSyntax({ language, text }, signal)

const CHECKS = {
  vox,
  json: parsed('json'),
  toml: parsed('toml'),
  yaml: parsed('yaml'),
  javascript
} as const satisfies Readonly<Record<string, Check>>

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

/** Maximum characters of a vox text: the compiler takes about 0.2 s for it, during which nothing else runs. */
const MAX_VOX_CHARS = 131_072

/** Returns the language of a file by the ending of its name. Throws `WSP_LANGUAGE_UNKNOWN`. */
export function languageOf(path: string): Language {
  const ending = /\.([^./\\]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''
  const language = ENDINGS[ending]
  if (language !== undefined) return language
  throw workspaceErrors.create('WSP_LANGUAGE_UNKNOWN', `${path.slice(0, 200)}: no check exists for this kind of file`, {
    hint: `files with these endings can be checked: ${Object.keys(ENDINGS).join(', ')}`
  })
}

/**
 * Checks the syntax of a text; for vox also its types. Nothing of it is run. Throws `WSP_FILE_REFUSED` for a vox text longer
 * than {@link MAX_VOX_CHARS}, and `WSP_LANGUAGE_UNKNOWN` for vox without its compiler.
 */
export async function validate(language: Language, text: string, name: string, checkers: Checkers) {
  return CHECKS[language](text, name, checkers)
}

async function vox(text: string, name: string, { compiler }: Checkers): Promise<readonly Problem[]> {
  if (compiler === undefined)
    throw workspaceErrors.create('WSP_LANGUAGE_UNKNOWN', 'vox cannot be checked: the plugin compiler is not active', {
      hint: 'svc plugins why compiler shows the reason'
    })
  if (text.length > MAX_VOX_CHARS)
    throw workspaceErrors.create('WSP_FILE_REFUSED', `${name}: the text has ${text.length} characters`, {
      hint: `at most ${MAX_VOX_CHARS} characters of vox can be checked here; svc check checks longer files`
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

/** A statement of a module at the beginning of a line. `\s` would match line breaks, which takes quadratic time. */
const MODULE_STATEMENT = /^[\t ]*(?:import|export)\b/m

/** Parses with Node in another process, as a module if the name or the text says so. */
async function javascript(text: string, name: string, { signal }: Checkers): Promise<readonly Problem[]> {
  const isModule = name.endsWith('.mjs') || (!name.endsWith('.cjs') && MODULE_STATEMENT.test(text))
  const type = isModule ? 'module' : 'commonjs'
  const child = startChild(process.execPath, ['--check', `--input-type=${type}`, '-'], {
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
  const code = await new Promise<number | null | Error>(resolve => {
    child.once('error', resolve)
    child.once('close', resolve)
  })
  signal.throwIfAborted()
  if (code instanceof Error) return unfinished(errorMessage(code))
  if (code === 0) return []
  if (code === null) return unfinished(`its time limit is ${CHECK_TIMEOUT_MS} ms`)
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
