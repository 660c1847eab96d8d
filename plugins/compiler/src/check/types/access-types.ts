import { spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Expression, Member } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import { BodyContext } from './body-context.ts'
import { calledType } from './calls.ts'
import { ANY, generic, show, UNIT, type ValueType } from './type.ts'

/** Infers the types of names and of fields. */
export abstract class AccessTypes extends BodyContext {
  protected name(name: string): ValueType {
    const local = this.locals.lookup(name)
    if (local !== undefined) return local
    const entry = this.signatures.names.get(name)
    if (entry === undefined) return name === 'None' ? generic('Option', ANY) : name === 'Unit' ? UNIT : ANY
    if (entry.kind === 'constant') return this.signatures.resultOf(entry.declaration)
    if (entry.kind !== 'constructor' && entry.kind !== 'function') return ANY
    const result = calledType(entry, this.signatures)
    const isValue = entry.kind === 'constructor' && entry.signature?.params.length === 0
    return isValue ? result : { kind: 'function', params: null, result }
  }

  protected member({ object, property }: Member): ValueType {
    const objectType = this.infer(object)
    const wrapped = wrapping(objectType)
    if (wrapped !== null) return this.#wrappedMember(object, property, objectType, wrapped)
    const fields = this.signatures.reader.fieldsOf(objectType)
    if (fields === null) return ANY
    const found = fields.get(property.text)
    if (found !== undefined) return found
    const near = nearName(property.text, [...fields.keys()])
    this.report(
      'typecheck.unknown_field',
      `${show(objectType)} has no field \`${property.text}\``,
      property,
      spellingFix(near, property)
    )
    return ANY
  }

  /** Reports access to a field of an Option or a Result. Returns the type of the field in the wrapped value. */
  #wrappedMember(object: Expression, property: Name, objectType: ValueType, { unwraps, inner }: Wrapping): ValueType {
    const found = this.signatures.reader.fieldsOf(inner)?.get(property.text)
    const name = objectType.kind === 'dbResult' ? show(objectType.value) : show(objectType)
    const at = { start: object.end, end: object.end }
    this.report('typecheck.unknown_field', `${name} has no field \`${property.text}\``, property, {
      suggestions: [`handle both cases with \`match\`, or unwrap the value with \`.unwrap()\``],
      fixes: found === undefined ? [] : [{ label: 'unwrap the value first', span: at, replacement: unwraps }]
    })
    return found ?? ANY
  }
}

/** A type that wraps the value whose field is accessed. */
interface Wrapping {
  /** Code that unwraps the value. */
  readonly unwraps: string
  readonly inner: ValueType
}

/** Returns null for other types than Option and Result. */
function wrapping(type: ValueType): Wrapping | null {
  if (type.kind === 'dbResult') {
    const within = wrapping(type.value)
    return within === null ? null : { ...within, unwraps: `.unwrap()${within.unwraps}` }
  }
  if (type.kind !== 'generic' || (type.name !== 'Option' && type.name !== 'Result')) return null
  const [first = ANY] = type.args
  const within = wrapping(first)
  return within === null
    ? { unwraps: '.unwrap()', inner: first }
    : { unwraps: `.unwrap()${within.unwraps}`, inner: within.inner }
}
