import type { Program } from '@svc/contracts'
import { checkFile, programOf, SourceFile } from '@svc/plugin-compiler/testing'
import { CAPABILITIES, type Capability, type Host, Interpreter, type Limits } from '#interpreter'

export const LIMITS: Limits = { steps: 10_000_000, milliseconds: 20_000, bytes: 2 ** 31, depth: 500 }

/** Compiles a source text, which must have no errors. */
export function programFrom(text: string, script = false, path = 'program.vox'): Program {
  const file = new SourceFile(path, text)
  const options = { script, allowComponentFunctions: false, suppressHookLints: false }
  const checked = checkFile(file, options)
  const wrong = checked.diagnostics.filter(({ severity }) => severity === 'error')
  if (wrong.length > 0) throw new Error(wrong.map(({ code, message }) => `${code}: ${message}`).join('\n'))
  return programOf(checked)
}

export interface Ran {
  readonly lines: readonly string[]
  /** Code of the error that ended the program. */
  readonly code: string | null
  readonly error: (Error & { readonly data?: { readonly calls: readonly string[] } }) | null
}

export interface Surroundings {
  readonly script?: boolean
  readonly limits?: Partial<Limits>
  readonly capabilities?: readonly Capability[]
}

export function hostOf(lines: string[], capabilities: readonly Capability[] = CAPABILITIES): Host {
  return {
    print: line => lines.push(line),
    log: ({ level, text, fields }) => {
      lines.push(`${level}: ${text}${fields === undefined ? '' : ` ${JSON.stringify(fields)}`}`)
    },
    now: () => 1_700_000_000_000,
    random: () => 0.5,
    args: [],
    capabilities: new Set(capabilities),
    sleep: () => undefined,
    bridge: null,
    database: null,
    ending: []
  }
}

/** Compiles a source text, which must have no errors, and runs `main`. */
export function run(text: string, { script = false, ...surroundings }: Surroundings = {}): Ran {
  return runProgram(programFrom(text, script), surroundings)
}

/** Runs `main`. Returns the output and the outcome. */
export function runProgram(program: Program, { limits = {}, capabilities }: Omit<Surroundings, 'script'> = {}): Ran {
  const lines: string[] = []
  try {
    new Interpreter(program, hostOf(lines, capabilities)).call('main', [], { ...LIMITS, ...limits })
    return { lines, code: null, error: null }
  } catch (error) {
    const { code } = error as { readonly code?: string }
    if (code === undefined) throw error
    return { lines, code, error: error as Error }
  }
}

/** Returns the output of an expression, or the code of its error. */
export function shown(expression: string, declarations = ''): string {
  const { lines, code } = run(`${declarations}\nfn main() {\n    print(${expression})\n}\n`)
  return code ?? lines.join('\n')
}
