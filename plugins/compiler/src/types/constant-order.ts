import { diagnostic } from '../diagnostics/diagnostic.ts'
import type { Const, Declaration } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import { walk } from '../syntax/walk.ts'
import type { TypedModule, TypedPass } from './typed-module.ts'

/** Reports constants whose value needs a later constant, also through the functions that it calls. */
export const checkConstantOrder: TypedPass = (module, report) => {
  const constants = module.module.items.filter(item => item.kind === 'Const')
  if (constants.length === 0) return
  const position = new Map<Declaration, number>(constants.map((item, index) => [item, index]))
  const runs = usesOfRuns(module)
  const latest = latestConstants(module, constants, runs)
  for (const [index, constant] of constants.entries()) {
    for (const { declaration, span } of runs.get(constant) ?? []) {
      const needed = position.has(declaration) ? declaration : latest.get(declaration)
      if (needed === undefined || (position.get(needed) ?? -1) < index) continue
      const name = needed === constant ? 'itself' : `\`${nameIn(needed as Const)}\``
      const message = `the value of \`${nameIn(constant)}\` needs ${name}, which has no value yet`
      report(diagnostic('typecheck.undefined', message, span, { suggestions: ['declare it above'] }))
      break
    }
  }
}

interface RunUse {
  readonly declaration: Declaration
  readonly span: Span
}

/** Returns the constants that each declaration uses when it runs, and the functions that it calls. */
function usesOfRuns({ module, usesOf }: TypedModule): Map<Declaration, RunUse[]> {
  const runs = new Map<Declaration, RunUse[]>()
  for (const item of module.items) {
    if (item.kind !== 'Const' && item.kind !== 'Function') continue
    const uses = usesOf(item)
    if (uses.length === 0) continue
    const lambdas = lambdasIn(item)
    const found: RunUse[] = []
    for (const use of uses) {
      if (use.kind !== 'declaration' || !(use.isCall || use.declaration.kind === 'Const')) continue
      // A lambda may run later.
      if (!lambdas.some(({ start, end }) => start <= use.node.start && use.node.end <= end)) {
        found.push({ declaration: use.declaration, span: use.node })
      }
    }
    runs.set(item, found)
  }
  return runs
}

/** Returns the latest constant that each function needs, also through its callees. */
function latestConstants(
  { module }: TypedModule,
  constants: readonly Const[],
  runs: ReadonlyMap<Declaration, readonly RunUse[]>
): Map<Declaration, Const> {
  const callers = new Map<Declaration, Declaration[]>()
  for (const item of module.items) {
    if (item.kind !== 'Function') continue
    for (const { declaration } of runs.get(item) ?? []) {
      const known = callers.get(declaration)
      if (known === undefined) callers.set(declaration, [item])
      else known.push(item)
    }
  }
  const latest = new Map<Declaration, Const>()
  for (const constant of constants.toReversed()) {
    const open: Declaration[] = [constant]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      // toestub-ignore(scaling/nested-loops) - the loops visit each use of each constant once
      for (const caller of callers.get(next) ?? []) {
        if (latest.has(caller)) continue
        latest.set(caller, constant)
        open.push(caller)
      }
    }
  }
  return latest
}

function lambdasIn(declaration: Declaration): Span[] {
  const lambdas: Span[] = []
  walk(declaration, node => {
    if (node.kind !== 'Lambda') return true
    lambdas.push(node)
    return false
  })
  return lambdas
}

function nameIn({ statement }: Const): string {
  if (statement.kind !== 'Let') return ''
  const { pattern } = statement
  return pattern.kind === 'BindingPattern' ? pattern.name.text : 'the constants'
}
