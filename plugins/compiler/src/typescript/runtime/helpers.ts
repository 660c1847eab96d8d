import { TypeImports } from '../types.ts'
import { CHECK_HELPERS } from './check-helpers.ts'
import { DECIMAL_HELPERS } from './decimal-helpers.ts'
import { INT_HELPERS } from './int-helpers.ts'
import { RESULT_HELPERS } from './result-helpers.ts'
import { VALUE_HELPERS } from './value-helpers.ts'

/** A function that emitted modules share. */
export interface Helper {
  /** TypeScript source, with a docstring. */
  readonly source: string
  /** Helpers that this helper calls. */
  readonly needs?: readonly string[]
  /** Imported names, by module. */
  readonly imports?: Readonly<Record<string, readonly string[]>>
  readonly usesResult?: boolean
}

/** Helpers by name, in output order. */
export const HELPERS: ReadonlyMap<string, Helper> = new Map(
  Object.entries({ ...INT_HELPERS, ...VALUE_HELPERS, ...CHECK_HELPERS, ...DECIMAL_HELPERS, ...RESULT_HELPERS })
)

/** Path of the module with the helpers, as imported. */
export const RUNTIME_MODULE = './vox-runtime'

/** Returns the module with the used helpers and their dependencies; null if none is used. */
export function runtimeText(used: ReadonlySet<string>): string | null {
  if (used.size === 0) return null
  const all = new Set<string>()
  const add = (name: string): void => {
    if (all.has(name)) return
    all.add(name)
    for (const each of HELPERS.get(name)?.needs ?? []) add(each)
  }
  for (const name of used) add(name)
  const helpers = [...HELPERS].filter(([name]) => all.has(name)).map(([, helper]) => helper)
  const usesResult = helpers.some(each => each.usesResult === true)
  const imports = new TypeImports()
  if (usesResult) imports.use('./types', 'Result')
  for (const helper of helpers) {
    for (const [module, names] of Object.entries(helper.imports ?? {})) {
      for (const name of names) imports.importingModule(module, name)
    }
  }
  const lines = imports.lines().map(each => `${each}\n`)
  return [lines.join(''), ...helpers.map(each => each.source)].filter(part => part !== '').join('\n')
}
