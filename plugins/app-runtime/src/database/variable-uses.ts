import type { HirExpression, HirPattern, HirStatement } from '@svc/contracts'

/** Syntax nodes by the name of the language form. */
export type Forms = Form<HirExpression> & Form<HirStatement>
type Form<N> = { readonly [K in N extends unknown ? keyof N : never]: Extract<N, { readonly [P in K]: unknown }>[K] }

/** An `Ident` node that reads a variable. */
export type Name = readonly [name: string, span: unknown]

/** Returns the reads of a variable in the statements after its `let`, until it is shadowed. */
export function usesOf(name: string, statements: readonly unknown[]): Name[] {
  const uses: Name[] = []
  collect(name, statements, uses)
  return uses
}

function collect(name: string, node: unknown, into: Name[]): void {
  if (Array.isArray(node)) {
    for (const each of node) {
      collect(name, each, into)
      if (rebinds(each, name)) return
    }
    return
  }
  if (typeof node !== 'object' || node === null || hides(node, name)) return
  if ('Ident' in node && Array.isArray(node.Ident) && node.Ident[0] === name) into.push(node.Ident as unknown as Name)
  for (const each of Object.values(node)) collect(name, each, into)
}

function rebinds(statement: unknown, name: string): boolean {
  return (
    typeof statement === 'object' &&
    statement !== null &&
    'Let' in statement &&
    binds((statement as { readonly Let: Forms['Let'] }).Let.pattern, name)
  )
}

/** True if a node declares a variable of that name, which shadows the outer one inside the node. */
function hides(node: object, name: string): boolean {
  if ('Lambda' in node)
    return (node as { readonly Lambda: Forms['Lambda'] }).Lambda[0].some(param => param.name === name)
  if ('pattern' in node && 'guard' in node) return binds(node.pattern as HirPattern, name)
  if ('For' in node) return (node as { readonly For: Forms['For'] }).For[0] === name
  return 'ForEach' in node && binds((node as { readonly ForEach: Forms['ForEach'] }).ForEach.binding, name)
}

function binds(pattern: HirPattern, name: string): boolean {
  if ('Ident' in pattern) return pattern.Ident[0] === name
  if ('Tuple' in pattern) return pattern.Tuple[0].some(each => binds(each, name))
  if ('Constructor' in pattern) return pattern.Constructor[1].some(each => binds(each, name))
  return 'Or' in pattern && pattern.Or[0].some(each => binds(each, name))
}
