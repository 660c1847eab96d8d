import { type Hir, type HirNode, walkHir } from '@svc/contracts'
import type { TypeScriptCode } from './code.ts'
import { bindingOf, type Emitter, typeOf } from './emitter.ts'
import { isNode } from './uses.ts'
import { isNamed, isScalar } from './value-types.ts'

/**
 * TypeScript narrows the type of a variable where it knows more of its value than the program's type says, and refuses
 * code that is only useful for other values. `Emitter.known` has the variables that are narrowed at this point, with
 * their known value, so that such code can name the type instead.
 */
type Known = ReadonlyMap<string, string>

/** A known value of which only the kind matters: one of some variants. */
const SOME = 'some'

/** Returns the known value of a variable of a declared type after an assignment. */
function knownOf(type: Hir.Type, value: string | undefined): string | undefined {
  if (value === undefined || isNamed(type, 'int', 'float', 'str', 'char', 'dec')) return undefined
  return isNamed(type, 'Option') && value !== 'null' ? undefined : value
}

/** Notes the value that a variable has from here on. `type`: its declared type; null if TypeScript infers it. */
export function know(e: Emitter, name: string, type: Hir.Type | null, value: string | undefined): void {
  const known = type === null ? value : knownOf(type, value)
  unknow(e, name)
  if (known !== undefined) e.known.set(name, known)
}

/** Forgets the value of a variable and of its parts. */
function unknow(e: Emitter, name: string): void {
  for (const each of [...e.known.keys()]) if (each.split(/[.[]/, 1)[0] === name) e.known.delete(each)
}

/** Returns the known value of a part of a variable. */
export function knownPart(e: Emitter, node: Hir.Field | Hir.Item): string | undefined {
  const reference = e.known.size === 0 ? null : referenceOf(e, node)
  return reference === null ? undefined : e.known.get(reference)
}

/** Returns the code of a variable or a part of it, as TypeScript narrows it; null for other values. */
function referenceOf(e: Emitter, node: Hir.Expr): string | null {
  if (node.kind === 'Local') return bindingOf(e, node.local).name
  if (node.kind !== 'Field' && node.kind !== 'Item') return null
  const object = referenceOf(e, node.object)
  if (object === null) return null
  return node.kind === 'Field' ? `${object}.${node.name}` : `${object}[${node.index}]`
}

/** Returns the known value of one of two values. */
export function eitherKnown(type: Hir.Type, a: TypeScriptCode, b: TypeScriptCode): string | undefined {
  if (a.known === undefined || b.known === undefined) return undefined
  if (a.known === b.known) return a.known
  return isNamed(type, 'bool') || !isScalar(type) ? undefined : SOME
}

/** Translates a branch, in which some variables have known values. */
export function assuming<A>(e: Emitter, known: Known, write: () => A): A {
  const before = e.known
  e.known = new Map([...before, ...known])
  const made = write()
  e.known = before
  return made
}

/** Forgets the values of variables that code assigns, before a loop and after branches. */
export function forget(e: Emitter, code: HirNode | Hir.Block): void {
  for (const root of isNode(code) ? [code] : code) {
    walkHir(root, node => {
      const local =
        node.kind === 'Update' && typeof node.place.root === 'number' ? e.bound.get(node.place.root) : undefined
      if (local !== undefined) unknow(e, local.name)
      return true
    })
  }
}

/** Returns the values that TypeScript knows where a condition has a value. */
export function factsOf(e: Emitter, node: Hir.Expr, isTrue: boolean): Known {
  switch (node.kind) {
    case 'Logical':
      if ((node.operator === 'and') !== isTrue) return new Map()
      return new Map([...factsOf(e, node.left, isTrue), ...factsOf(e, node.right, isTrue)])
    case 'Unary':
      return node.operator === 'not' ? factsOf(e, node.operand, !isTrue) : new Map()
    case 'Local':
    case 'Field':
    case 'Item':
      return factOf(e, node, String(isTrue))
    case 'Binary': {
      if (node.operator !== 'is' && node.operator !== 'isnt') return new Map()
      const isEqual = (node.operator === 'is') === isTrue
      return new Map([...equalFact(e, node.left, node.right, isEqual), ...equalFact(e, node.right, node.left, isEqual)])
    }
    case 'CallNative': {
      const { native, receiver } = node
      if (receiver === null) return new Map()
      if (native === 'Result.is_ok' || native === 'Result.is_err') return factOf(e, receiver, SOME)
      const isNone = (native === 'Option.is_none' && isTrue) || (native === 'Option.is_some' && !isTrue)
      return isNone ? factOf(e, receiver, 'null') : new Map()
    }
    default:
      return new Map()
  }
}

function equalFact(e: Emitter, node: Hir.Expr, other: Hir.Expr, isEqual: boolean): Known {
  const isNone = other.kind === 'Variant' && other.name === 'None'
  if (isNone) return isEqual ? factOf(e, node, 'null') : new Map()
  return isScalar(typeOf(e, node)) && (isEqual || isNamed(typeOf(e, node), 'bool')) ? factOf(e, node, SOME) : new Map()
}

function factOf(e: Emitter, node: Hir.Expr, value: string): Known {
  const reference = referenceOf(e, node)
  return reference === null ? new Map() : new Map([[reference, value]])
}

/** Returns the values that TypeScript knows in the arm of a match. `name`: the variable with the matched value. */
export function armFacts(name: string, type: Hir.Type, { patterns }: Hir.MatchArm): Known {
  const isOpen = patterns.some(pattern => {
    const isAny = pattern.kind === 'Wildcard' || pattern.kind === 'Bind'
    if (isNamed(type, 'Option')) return isAny || (pattern.kind === 'Variant' && pattern.args.every(isBinding))
    return (
      isAny && (isNamed(type, 'int', 'float', 'str', 'char', 'dec') || type.kind === 'tuple' || type.kind === 'any')
    )
  })
  const isNone = patterns.every(pattern => pattern.kind === 'Variant' && pattern.name === 'None')
  return isOpen && !isNone ? new Map() : new Map([[name, isNone ? 'null' : SOME]])
}

function isBinding({ kind }: Hir.Pattern): boolean {
  return kind === 'Wildcard' || kind === 'Bind'
}
