import { childrenOf, type Hir, type HirNode, walkHir } from '@svc/contracts'
import { type EmittedProgram, isDeviceCall } from './program.ts'

type Kinds = ReadonlySet<HirNode['kind']>

const FUNCTIONS: Kinds = new Set(['Lambda'])
const LOOPS: Kinds = new Set(['Lambda', 'While', 'Loop', 'For'])
const LEAVING: Kinds = new Set(['Return', 'Break', 'Continue', 'Try'])

/** True if code or a part of it matches. The parts of nested nodes of some kinds are skipped. */
export function contains(
  code: HirNode | Hir.Block,
  matches: (node: HirNode) => boolean,
  closed: Kinds = FUNCTIONS
): boolean {
  if (!isNode(code)) return code.some(statement => contains(statement, matches, closed))
  if (matches(code)) return true
  return childrenOf(code).some(child => !closed.has(child.kind) && contains(child, matches, closed))
}

/** `Array.isArray` does not narrow read-only lists. */
export function isNode(code: HirNode | Hir.Block): code is HirNode {
  return !Array.isArray(code)
}

/** Returns the expression if code is nothing else, through blocks of one expression. */
export function onlyExpression(code: Hir.Expr | Hir.Block): Hir.Expr | null {
  const block = isNode(code) ? (code.kind === 'Block' ? code.block : null) : code
  if (block === null) return code as Hir.Expr
  const [only] = block
  return block.length === 1 && only?.kind === 'Expr' ? onlyExpression(only.value) : null
}

/** True if code contains parts that TypeScript allows only as statements. */
export function needsStatements(code: HirNode | Hir.Block): boolean {
  if (!isNode(code)) {
    const [only] = code
    return code.length !== 1 || only?.kind !== 'Expr' || needsStatements(only.value)
  }
  switch (code.kind) {
    case 'Match':
    case 'Try':
    case 'SideEffect':
      return true
    case 'Lambda':
    case 'Element':
    case 'Fragment':
      // These become separate functions, so their content does not matter.
      return false
    case 'Block':
      return needsStatements(code.block)
    case 'If':
      return (
        needsStatements(code.condition) ||
        needsStatements(code.then) ||
        (code.otherwise !== null && needsStatements(code.otherwise))
      )
    case 'For':
      return needsStatements(code.iterable) || leaves(code.body)
    default:
      return childrenOf(code).some(needsStatements)
  }
}

/** True if code contains a jump out of the enclosing loop or function. */
export function leaves(code: HirNode | Hir.Block): boolean {
  return contains(code, node => LEAVING.has(node.kind))
}

/** True if no statement after this code can be reached. */
export function diverges(code: HirNode | Hir.Block): boolean {
  if (!isNode(code)) return code.some(diverges)
  switch (code.kind) {
    case 'Return':
    case 'Break':
    case 'Continue':
      return true
    case 'Loop':
      return !breaks(code.body)
    case 'While':
      return code.condition.kind === 'Bool' && code.condition.value && !breaks(code.body)
    case 'Expr':
      return diverges(code.value)
    case 'Block':
    case 'SideEffect':
      return diverges(code.block)
    case 'If':
      return code.otherwise !== null && diverges(code.then) && diverges(code.otherwise)
    case 'Match':
      return code.arms.every(({ body }) => diverges(body))
    case 'CallNative':
      return code.native === 'panic'
    default:
      return false
  }
}

/** True if a `break` in this code belongs to an enclosing loop. */
export function breaks(code: HirNode | Hir.Block): boolean {
  return contains(code, node => node.kind === 'Break', LOOPS)
}

/** True if code must wait for the server or the device, except for the functions in it. */
export function hasToWait(
  code: HirNode | Hir.Block,
  program: EmittedProgram,
  isAsyncLocal: (local: Hir.LocalId) => boolean
): boolean {
  return contains(code, node => {
    switch (node.kind) {
      case 'Call':
        return program.isAsync(node.name)
      case 'CallValue':
        return node.callee.kind === 'Local' && isAsyncLocal(node.callee.local)
      case 'CallNative':
      case 'CallMethod':
        if (node.kind === 'CallNative' && isDeviceCall(node.native)) return true
        // A method calls its function argument synchronously.
        return node.args.some(arg => arg.kind === 'Lambda' && hasToWait(arg.body, program, isAsyncLocal))
      default:
        return false
    }
  })
}

/** True for assignments, and for calls of values, which may be functions with assignments. */
export function mayChangeVariables(node: HirNode): boolean {
  return node.kind === 'Update' || node.kind === 'CallValue'
}

export function mayHaveEffects({ kind }: HirNode): boolean {
  return kind.startsWith('Call') || kind === 'Update' || kind === 'SideEffect' || kind === 'Db' || kind === 'RawSql'
}

/** True for a division, and for an element that may be absent. Calls are effects. */
export function mayFail(node: HirNode): boolean {
  return node.kind === 'Index' || (node.kind === 'Binary' && ['div', 'mod'].includes(node.operator))
}

/**
 * Returns the states that code reads after it assigned them. A rendered component keeps the values of its render, so
 * such code needs separate variables.
 */
export function newestStates(code: Hir.Expr | Hir.Block, isState: (local: Hir.LocalId) => boolean): Hir.LocalId[] {
  /** End of the first assignment of each state. */
  const assigned = new Map<Hir.LocalId, number>()
  const found = new Set<Hir.LocalId>()
  const top: readonly HirNode[] = isNode(code) ? [code] : code
  const visit = (node: HirNode, isRepeated: boolean): void => {
    if (node.kind === 'Lambda') return
    const repeats = isRepeated || node.kind === 'While' || node.kind === 'Loop' || node.kind === 'For'
    for (const child of childrenOf(node)) visit(child, repeats)
    const local = stateOf(node)
    if (local === null || !isState(local)) return
    if (!assigned.has(local)) assigned.set(local, node.end)
    if (isRepeated) found.add(local)
  }
  for (const node of top) visit(node, false)
  for (const node of top) {
    walkHir(node, each => {
      // A compound assignment also reads its target.
      const local = each.kind === 'Local' ? each.local : readsTarget(each) ? stateOf(each) : null
      const from = local === null ? undefined : assigned.get(local)
      if (local !== null && from !== undefined && each.start >= from) found.add(local)
      return true
    })
  }
  return [...found]
}

function stateOf(node: HirNode): Hir.LocalId | null {
  return node.kind === 'Update' && typeof node.place.root === 'number' ? node.place.root : null
}

function readsTarget(node: HirNode): boolean {
  return node.kind === 'Update' && (node.operator !== null || node.place.path.length > 0)
}

/** Returns true if code reads a variable, also in a placeholder of a view's string. */
export function mentions(code: HirNode | Hir.Block, local: Hir.LocalId, name: string): boolean {
  return contains(
    code,
    node =>
      (node.kind === 'Local' && node.local === local) ||
      (node.kind === 'Update' && node.place.root === local) ||
      (node.kind === 'Str' && node.value.includes(`{${name}`)),
    new Set()
  )
}
