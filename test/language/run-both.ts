import { createContext, Script } from 'node:vm'
import type { Program } from '@svc/contracts'
import {
  checkFile,
  emitComponents,
  emitProject,
  hasErrors,
  programOf,
  SourceFile,
  webModule
} from '@svc/plugin-compiler/testing'
import { transformSync } from 'esbuild'
import { runProgram } from '../../plugins/app-runtime/test/run-program.ts'

/** Lines that a program printed, and whether it failed after them. */
export interface Trace {
  readonly lines: readonly string[]
  readonly failed: boolean
  /** Code of the failure; null if there is none. */
  readonly code: string | null
  /** Message of the failure, for people. */
  readonly reason: string | null
}

export interface BothTraces {
  readonly interpreted: Trace
  readonly emitted: Trace
}

/** A page that uses `main`, so that a build translates it. */
const PAGE = '\ncomponent Page() {\n    view: button(on_click=main()) { "Go" }\n}\n'

const OPTIONS = {
  mode: 'app',
  target: 'fullstack',
  mobileTarget: null,
  layout: 'spa',
  express: false,
  tokens: null,
  sourceFolder: '.',
  locate: () => null
} as const

/** Runs `main` of a program in the interpreter and as translated TypeScript. Throws if the program has errors. */
export function runBoth(source: string): BothTraces {
  const file = new SourceFile('program.vox', source + PAGE)
  const checked = checkFile(file, {
    script: false,
    allowComponentFunctions: false,
    suppressHookLints: false,
    strict: false
  })
  const wrong = checked.diagnostics.filter(({ severity }) => severity === 'error')
  if (hasErrors(checked.diagnostics)) {
    throw new Error(
      wrong.map(({ code, message, span }) => `${code}: ${message}: ${file.text.slice(span.start, span.end)}`).join('\n')
    )
  }
  const web = webModule(checked.parsed.module, file)
  const components = emitComponents(web, { validate: true })
  const problem = components.diagnostics.find(({ severity }) => severity === 'error')
  if (problem !== undefined) throw new Error(`${problem.code}: ${problem.message}`)
  const { files } = emitProject(web, components, OPTIONS)
  return {
    interpreted: interpreted(programOf(checked)),
    emitted: traced(print => runModules(new Map(files.map(({ path, text }) => [path, text])), print))
  }
}

/** Returns a line that shows how the two traces differ; null if they are equal. */
export function difference({ interpreted, emitted }: BothTraces): string | null {
  // Pages have no limits: a program that reaches one in the interpreter goes on in them.
  const isLimited = interpreted.code?.endsWith('_LIMIT') ?? false
  const length = isLimited ? interpreted.lines.length : Math.max(interpreted.lines.length, emitted.lines.length)
  for (let line = 0; line < length; line++) {
    const [a, b] = [interpreted.lines[line], emitted.lines[line]]
    if (a !== b) {
      return `line ${line + 1}: interpreted ${JSON.stringify(a ?? ending(interpreted))}, emitted ${JSON.stringify(b ?? ending(emitted))}`
    }
  }
  if (isLimited || (interpreted.failed === emitted.failed && interpreted.code === emitted.code)) return null
  return `interpreted ${ending(interpreted)}, emitted ${ending(emitted)}`
}

function ending({ failed, code, reason }: Trace): string {
  return failed ? `failed: ${code} ${reason}` : 'ended'
}

function interpreted(program: Program): Trace {
  const { lines, code, error } = runProgram(program)
  return { lines, failed: code !== null, code, reason: error?.message ?? null }
}

function traced(work: (print: (line: string) => void) => void): Trace {
  const lines: string[] = []
  try {
    work(line => lines.push(line))
    return { lines, failed: false, code: null, reason: null }
  } catch (error) {
    const { code = null } = error as { readonly code?: string }
    return { lines, failed: true, code, reason: String(error) }
  }
}

/** Modules that translated functions import but do not use. */
const ABSENT = new Set(['react', './vox-client'])

/** Scripts of modules that are the same in many builds. */
const scripts = new Map<string, Script>()

function scriptOf(text: string, filename: string): Script {
  const known = scripts.get(text)
  if (known !== undefined) return known
  const { code } = transformSync(text, { loader: 'tsx', format: 'cjs', target: 'es2023' })
  const script = new Script(`(function (module, exports, require) {${code}\n})`, { filename })
  // The module of the program itself is different in each build.
  if (filename !== 'vox-functions.ts') scripts.set(text, script)
  return script
}

/** Runs `main` of the translated modules in a separate context. */
function runModules(files: ReadonlyMap<string, string>, print: (line: string) => void): void {
  const loaded = new Map<string, Record<string, unknown>>()
  const context = createContext({
    console: { log: (...values: unknown[]) => print(values.map(logged).join(' ')) }
  })
  const load = (specifier: string): Record<string, unknown> => {
    if (ABSENT.has(specifier)) return {}
    const known = loaded.get(specifier)
    if (known !== undefined) return known
    const stem = specifier.replace('./', '')
    const text = files.get(`${stem}.ts`) ?? files.get(`${stem}.tsx`)
    if (text === undefined) throw new Error(`the build has no module ${specifier}`)
    const module = { exports: {} as Record<string, unknown> }
    scriptOf(text, `${stem}.ts`).runInContext(context, { timeout: 5_000 })(module, module.exports, load)
    loaded.set(specifier, module.exports)
    return module.exports
  }
  const { main } = load('./vox-functions') as { main: () => void }
  Object.assign(context, { main })
  new Script('main()').runInContext(context, { timeout: 5_000 })
}

/** Writes a value that a page logs. Values in lists and objects are logged as they are, and shown by the browser. */
function logged(value: unknown): string {
  return typeof value === 'number' ? String(value) : shown(value)
}

/** Writes a value as \`print\` does on a server. */
function shown(value: unknown): string {
  if (typeof value === 'number' && /e/.test(String(value))) return withoutExponent(value)
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return 'None'
  if (Array.isArray(value)) return `[${value.map(shown).join(', ')}]`
  if (typeof value !== 'object') return String(value)
  const { _tag, ...fields } = value as Record<string, unknown>
  if (typeof _tag === 'string') {
    const held = Object.values(fields)
    return held.length === 0 ? _tag : `${_tag}(${held.map(shown).join(', ')})`
  }
  return `{${Object.entries(value)
    .map(([key, each]) => `${key}: ${shown(each)}`)
    .join(', ')}}`
}

function withoutExponent(value: number): string {
  const maximumSignificantDigits = String(value).replace(/e.*/, '').replace(/\D/g, '').length
  return value.toLocaleString('en-US', { useGrouping: false, maximumSignificantDigits })
}
