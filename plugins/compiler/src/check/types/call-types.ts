import { spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Declaration, Param } from '../../syntax/ast.ts'
import type { Argument, Call, Element, Expression, Member, ObjectEntry } from '../../syntax/ast-expressions.ts'
import { entryKey, entryValue } from '../../syntax/entries.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Name } from '../../syntax/node.ts'
import { readDbChain } from '../../types/db/chain.ts'
import type { ModuleName } from '../names/module-names.ts'
import { AccessTypes } from './access-types.ts'
import { builtinResult, calledType, checkArguments } from './calls.ts'
import { databaseResult } from './database-result.ts'
import { isList, itemOf } from './item-types.ts'
import { methodResult, methodsOf } from './methods.ts'
import { namespaceResult } from './namespace-results.ts'
import { ANY, show, type ValueType } from './type.ts'

/** List methods that call a function with each element. */
const CALLBACK_METHODS: ReadonlySet<string> = new Set(['map', 'flat_map', 'filter', 'any', 'all', 'find', 'sort_by'])

/** List methods that take an element as argument. */
const ELEMENT_METHODS: ReadonlySet<string> = new Set(['push', 'append', 'contains'])

/**
 * Infers the types of calls and checks their arguments: functions, methods, handlers, actors, components, constructors.
 */
export abstract class CallTypes extends AccessTypes {
  /** Element types for the parameters of lambdas. */
  protected readonly items = new Map<Expression, ValueType>()

  protected call(call: Call, piped: ValueType | null): ValueType {
    const chain = readDbChain(call, this.signatures.tables)
    if (chain !== null) return databaseResult(chain, value => this.infer(value), this.signatures)
    const { callee } = call
    const isMethod = callee.kind === 'Member'
    const object = isMethod ? this.infer(callee.object) : ANY
    if (isMethod && isList(object) && CALLBACK_METHODS.has(callee.property.text)) {
      for (const { value } of call.args) this.items.set(value, itemOf(object))
    }
    const argumentTypes = call.args.map(({ value }) => this.infer(value))
    if (isMethod) return this.#provided(callee) ?? this.#method(callee, object, call.args)
    if (callee.kind !== 'Identifier') {
      const found = this.infer(callee)
      return found.kind === 'function' ? found.result : ANY
    }
    const { name } = callee
    const local = this.locals.lookup(name)
    const entry = this.signatures.names.get(name)
    if (local === undefined && entry === undefined)
      return builtinResult(name, piped === null ? argumentTypes : [piped, ...argumentTypes])
    if (local === undefined && entry !== undefined && entry.kind !== 'constant') {
      checkArguments(call, argumentTypes, piped, entry, this.signatures)
      return calledType(entry, this.signatures)
    }
    const found = local ?? this.name(name)
    if (found.kind === 'function') return found.result
    if (found.kind === 'plain' || found.kind === 'record' || found.kind === 'row' || found.kind === 'tuple') {
      this.report('typecheck.not_a_function', `\`${name}\` is a ${show(found)}, not a function`, callee)
    }
    return ANY
  }

  /** Returns the result type of a namespace function; undefined for other callees. */
  #provided({ object, property }: Member): ValueType | undefined {
    if (object.kind !== 'Identifier' || this.locals.lookup(object.name) !== undefined) return undefined
    return this.signatures.names.has(object.name) ? undefined : namespaceResult(object.name, property.text)
  }

  #method({ property }: Member, object: ValueType, args: readonly Argument[]): ValueType {
    if (object.kind === 'actor') return this.#handler(property, object, args)
    const expected = argumentType(object, property.text)
    for (const { value } of args) this.expect(value, expected)
    const result = methodResult(object, property.text)
    if (result !== undefined) return result
    const near = nearName(property.text, methodsOf(object))
    this.report(
      'typecheck.unknown_method',
      `${show(object)} has no method \`${property.text}\``,
      property,
      spellingFix(near, property)
    )
    return ANY
  }

  #handler(
    event: Member['property'],
    { declaration }: Extract<ValueType, { kind: 'actor' }>,
    args: readonly Argument[]
  ): ValueType {
    const handlers = declaration.members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
    const handler = handlers.find(each => each.event.text === event.text)
    if (handler !== undefined) {
      this.#argumentTypes(args, handler.params)
      return this.signatures.reader.read(handler.result)
    }
    if (event.text === 'send') return ANY
    const near = nearName(
      event.text,
      handlers.map(each => each.event.text)
    )
    const message = `the actor \`${declaration.name.text}\` has no handler \`${event.text}\``
    this.report('typecheck.actor.unknown_handler', message, event, spellingFix(near, event))
    return ANY
  }

  protected spawned(target: Expression): ValueType {
    const named = target.kind === 'Call' ? target.callee : target
    if (target.kind === 'Call') for (const { value } of target.args) this.infer(value)
    const found = named.kind === 'Identifier' ? (this.signatures.reader.declared(named.name) ?? ANY) : ANY
    if (target.kind === 'Call' && found.kind === 'actor' && found.declaration.kind === 'Actor') {
      this.#argumentTypes(target.args, found.declaration.params ?? [])
    }
    return found
  }

  /** Checks arguments against the declared parameters of an actor or a handler. */
  #argumentTypes(args: readonly Argument[], params: readonly Param[]): void {
    let position = 0
    for (const { name, value } of args) {
      const param = name === null ? params[position++] : params.find(each => each.name.text === name.text)
      this.expect(value, this.signatures.reader.read(param?.type ?? null))
    }
  }

  protected piped(right: Expression): ValueType {
    const found = right.kind === 'Identifier' ? this.#callee(right.name, [ANY]) : this.infer(right)
    return found.kind === 'function' ? found.result : found
  }

  protected pipedInto(callee: Expression, value: Expression): void {
    if (callee.kind !== 'Identifier' || this.locals.lookup(callee.name) !== undefined) return
    const first = this.signatures.names.get(callee.name)?.signature?.params[0]
    this.expect(value, this.signatures.reader.read(first?.type ?? null))
  }

  #callee(name: string, argumentTypes: readonly ValueType[]): ValueType {
    const isBuiltin = this.locals.lookup(name) === undefined && !this.signatures.names.has(name)
    return isBuiltin ? builtinResult(name, argumentTypes) : this.name(name)
  }

  protected attributes({ tag, attributes }: Element): void {
    const component = this.signatures.names.get(tag.text)?.declaration
    const params = component === undefined ? [] : propertiesOf(component)
    for (const { name, value } of attributes) {
      if (value === null) continue
      this.infer(value)
      const type = params.find(each => each.name.text === name.text)?.type ?? null
      this.expect(value, this.signatures.reader.read(type))
    }
  }

  /** Checks a constructor that is written as a struct literal. */
  protected members(entries: readonly ObjectEntry[], { signature }: ModuleName): void {
    for (const entry of entries) {
      const type = signature?.params.find(({ name }) => name.text === entryKey(entry))?.type ?? null
      this.expect(entryValue(entry), this.signatures.reader.read(type))
    }
  }
}

/** Returns the parameter type of a method for this receiver type. */
function argumentType(object: ValueType, method: string): ValueType {
  if (isList(object) && ELEMENT_METHODS.has(method)) return itemOf(object)
  if (method !== 'unwrap_or') return ANY
  if (object.kind === 'dbResult') return object.value
  return object.kind === 'generic' ? (object.args[0] ?? ANY) : ANY
}

/** Returns the properties of a component. */
function propertiesOf(declaration: Declaration): readonly { readonly name: Name; readonly type: Param['type'] }[] {
  switch (declaration.kind) {
    case 'Component':
    case 'Fragment':
    case 'Function':
      return declaration.params
    case 'Island':
    case 'V0':
      return declaration.props
    default:
      return []
  }
}
