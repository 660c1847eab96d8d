import { ID, INT } from './builtin-types.ts'
import { type FnType, isSameDef, type NamedType, type RecordType, resolved, type Type, type VarType } from './type.ts'

/**
 * Maximum number of steps of one comparison. Types share parts, so that a short program can make one with more paths
 * than a computer can visit. Beyond the limit, types count as equal.
 */
const MAX_STEPS = 20_000

let steps = 0

/** Makes two types equal by linking variables. Returns false if they differ; variables may then be linked in part. */
export function unify(a: Type, b: Type): boolean {
  steps = 0
  return unifyParts(a, b)
}

function unifyParts(first: Type, second: Type): boolean {
  const a = resolved(first)
  const b = resolved(second)
  if (a === b || ++steps > MAX_STEPS) return true
  if (a.kind === 'var') return link(a, b)
  if (b.kind === 'var') return link(b, a)
  if (isOpen(a) || isOpen(b)) return true
  switch (a.kind) {
    case 'named':
      return b.kind === 'named' && unifyNamed(a, b)
    case 'tuple':
      return b.kind === 'tuple' && unifyAll(a.items, b.items)
    case 'fn':
      return b.kind === 'fn' && unifyFunctions(a, b)
    case 'record':
      return b.kind === 'record' && unifyRecords(a, b)
    case 'answer':
      return b.kind === 'answer' && unifyParts(a.value, b.value)
    default:
      return false
  }
}

/** True for types that fit everywhere, also inside of other types. */
function isOpen({ kind }: Type): boolean {
  return kind === 'any' || kind === 'error' || kind === 'never'
}

function unifyNamed(a: NamedType, b: NamedType): boolean {
  if (!isSameDef(a.def, b.def)) return (a.def === ID && b === INT) || (b.def === ID && a === INT)
  return unifyAll(a.args, b.args)
}

function unifyAll(a: readonly Type[], b: readonly Type[]): boolean {
  if (a.length !== b.length) return false
  for (let index = 0; index < a.length; index++) {
    if (!unifyParts(a[index] as Type, b[index] as Type)) return false
  }
  return true
}

function unifyFunctions(a: FnType, b: FnType): boolean {
  if (a.params.length !== b.params.length) return false
  for (const [index, { type }] of a.params.entries()) {
    const other = b.params[index]
    if (other === undefined || !unifyParts(type, other.type)) return false
  }
  return unifyParts(a.result, b.result)
}

function unifyRecords(a: RecordType, b: RecordType): boolean {
  if (a.fields.size !== b.fields.size) return false
  for (const [name, type] of a.fields) {
    const other = b.fields.get(name)
    if (other === undefined || !unifyParts(type, other)) return false
  }
  return true
}

/** Links a variable, unless the type contains it. */
export function link(variable: VarType, type: Type): boolean {
  const target = resolved(type)
  if (target === variable) return true
  if (target.kind === 'var') {
    variable.link = target
    target.isNumber ||= variable.isNumber
    if (variable.needsAnnotation && !target.needsAnnotation) {
      target.needsAnnotation = true
      target.origin = variable.origin
    }
    if (variable.waiting !== null) {
      target.waiting = target.waiting === null ? variable.waiting : target.waiting.concat(variable.waiting)
      variable.waiting = null
    }
    return true
  }
  if (occurs(variable, target)) return false
  variable.link = target
  const { waiting } = variable
  if (waiting !== null) {
    variable.waiting = null
    for (const constraint of waiting) woken.push(constraint)
  }
  return true
}

/** Constraints whose variable was linked since the last call of `takeWoken`. */
const woken: (() => boolean)[] = []

/** Returns a constraint that can be tried again. Constraints are not tried while types are being compared. */
export function takeWoken(): (() => boolean) | undefined {
  return woken.pop()
}

export function forgetWoken(): void {
  woken.length = 0
}

function occurs(variable: VarType, within: Type): boolean {
  const type = resolved(within)
  if (type === variable) return true
  if (!('size' in type) || type.size === 1 || ++steps > MAX_STEPS) return false
  switch (type.kind) {
    case 'named':
      return type.args.some(arg => occurs(variable, arg))
    case 'tuple':
      return type.items.some(item => occurs(variable, item))
    case 'fn':
      return type.params.some(each => occurs(variable, each.type)) || occurs(variable, type.result)
    case 'record': {
      for (const field of type.fields.values()) if (occurs(variable, field)) return true
      return false
    }
    default:
      return occurs(variable, type.value)
  }
}
