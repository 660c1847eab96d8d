import { diagnostic } from '../diagnostics/diagnostic.ts'
import type { Const, Declaration } from '../syntax/ast.ts'
import type { Span } from '../syntax/node.ts'
import { walk } from '../syntax/walk.ts'
import type { TypedPass, Use } from './typed-module.ts'

/** Reports constants whose value needs a later constant, also through the functions that it calls. */
export const checkConstantOrder: TypedPass = ({ module, usesOf }, report) => {
  const position = new Map<Declaration, number>()
  for (const [index, item] of module.items.entries()) if (item.kind === 'Const') position.set(item, index)
  if (position.size < 1) return
  const runs = new Map<Declaration, readonly Use[]>()
  /** Returns the uses that take place when the declaration runs. A lambda may run later. */
  const runUses = (declaration: Declaration): readonly Use[] => {
    const known = runs.get(declaration)
    if (known !== undefined) return known
    const uses = usesOf(declaration)
    const found = uses.length === 0 ? uses : withoutLambdas(declaration, uses)
    runs.set(declaration, found)
    return found
  }
  for (const [constant, index] of position) {
    const seen = new Set<Declaration>([constant])
    const open: { readonly declaration: Declaration; readonly via: Span | null }[] = [
      { declaration: constant, via: null }
    ]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const use of runUses(next.declaration)) {
        if (use.kind !== 'declaration') continue
        const { declaration, isCall } = use
        const span = next.via ?? use.node
        const needed = position.get(declaration)
        if (needed !== undefined && needed >= index) {
          const names = declaration === constant ? 'itself' : `\`${nameIn(declaration as Const)}\``
          const message = `the value of \`${nameIn(constant as Const)}\` needs ${names}, which has no value yet`
          report(diagnostic('typecheck.undefined', message, span, { suggestions: ['declare it above'] }))
          open.length = 0
          break
        }
        if (!isCall || needed !== undefined || seen.has(declaration)) continue
        seen.add(declaration)
        open.push({ declaration, via: span })
      }
    }
  }
}

function withoutLambdas(declaration: Declaration, uses: readonly Use[]): readonly Use[] {
  const lambdas: Span[] = []
  walk(declaration, node => {
    if (node.kind !== 'Lambda') return true
    lambdas.push(node)
    return false
  })
  if (lambdas.length === 0) return uses
  return uses.filter(({ node }) => !lambdas.some(({ start, end }) => start <= node.start && node.end <= end))
}

function nameIn({ statement }: Const): string {
  if (statement.kind !== 'Let') return ''
  const { pattern } = statement
  return pattern.kind === 'BindingPattern' ? pattern.name.text : 'the constants'
}
