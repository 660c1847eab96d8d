import { checkFile, hasErrors, SourceFile } from '@svc/plugin-compiler/testing'
import { run } from '../../plugins/app-runtime/test/run-program.ts'
import { MUTANT_TYPES, mutant, mutationsOf } from '../../plugins/compiler/test/language/mutations.ts'
import { PRELUDE } from '../../plugins/compiler/test/language/prelude.ts'
import { RIGHT } from '../../plugins/compiler/test/language/right-programs.ts'
import { Choices } from './choices.ts'
import { generateProgram } from './generate.ts'

/** A mutant that the checker accepts. */
export interface Survivor {
  readonly place: string
  /** The line of the mutation. */
  readonly text: string
}

export interface Mutants {
  readonly count: number
  readonly survivors: readonly Survivor[]
}

/** Failures that a program without errors may end with only at a border where its types are unknown. */
const TYPE_FAILURES: ReadonlySet<string> = new Set(['RUN_TYPE', 'RUN_UNDEFINED', 'RUN_UNSUPPORTED'])

/** Mutates the right programs of the corpus. Takes every n-th mutation. */
export function corpusMutants({ every }: { readonly every: number }): Mutants {
  const survivors: Survivor[] = []
  const base = MUTANT_TYPES + PRELUDE
  let seen = 0
  let count = 0
  for (const source of Object.values(RIGHT).flat()) {
    const text = base + source
    for (const mutation of mutationsOf(text)) {
      if (mutation.start < base.length || seen++ % every !== 0) continue
      count++
      const changed = mutant(text, mutation)
      if (!hasErrors(diagnosticsOf(changed))) survivors.push(survivor(changed, mutation.start, mutation.place))
    }
  }
  return { count, survivors }
}

export interface GeneratedMutants extends Mutants {
  /** Findings in the programs themselves, and failures of their runs that types should prevent. */
  readonly problems: readonly string[]
}

export interface GeneratedRange {
  /** Seed of the first program. */
  readonly first: number
  readonly programs: number
  /** Number of mutants of each program. */
  readonly each: number
}

/** Checks and runs generated programs, and checks some of their mutants. */
export function generatedMutants({ first, programs, each }: GeneratedRange): GeneratedMutants {
  const survivors: Survivor[] = []
  const problems: string[] = []
  let count = 0
  for (let seed = first; seed < first + programs; seed++) {
    const text = MUTANT_TYPES + generateProgram(Choices.seeded(seed))
    // Some functions of the programs compare parameters of any type on purpose.
    const wrong = diagnosticsOf(text).find(({ code }) => code !== 'typecheck.annotation_needed')
    if (wrong !== undefined) {
      problems.push(`program ${seed}: ${wrong.code}: ${wrong.message}`)
      continue
    }
    const failure = typeFailure(text)
    if (failure !== null) problems.push(`program ${seed}: ${failure}`)
    const mutations = mutationsOf(text)
    const step = Math.max(1, mutations.length / each)
    for (let at = (seed % 7) / 7; at < mutations.length; at += step) {
      const mutation = mutations[Math.floor(at)]
      if (mutation === undefined) continue
      count++
      const changed = mutant(text, mutation)
      if (!hasErrors(diagnosticsOf(changed))) survivors.push(survivor(changed, mutation.start, mutation.place))
    }
  }
  return { count, survivors, problems }
}

function diagnosticsOf(text: string) {
  const options = { script: false, allowComponentFunctions: false, suppressHookLints: false }
  return checkFile(new SourceFile('program.vox', text), options).diagnostics
}

/** Runs `main`. Returns a failure that a checked program should not have; null if there is none. */
function typeFailure(text: string): string | null {
  const { code, error } = run(text)
  return code !== null && TYPE_FAILURES.has(code) ? `${code}: ${error?.message}` : null
}

function survivor(text: string, at: number, place: string): Survivor {
  const end = text.indexOf('\n', at)
  return { place, text: text.slice(text.lastIndexOf('\n', at) + 1, end === -1 ? text.length : end) }
}
