import type { Hir, HirNode } from '@svc/contracts'
import { ANY as ANY_VALUE } from '../types/type.ts'
import type { EmittedProgram } from './program.ts'
import { ANY, hasParameter, inferTypes, isList, isNamed, itemOf, iteratedItemOf } from './value-types.ts'

/** Types that follow from the arguments of a call. */
export interface ArgumentTypes {
  /** Types of its type parameters. */
  readonly parameters: ReadonlyMap<string, Hir.Type>
  /** Types of its parameters of type `any`. */
  readonly locals: ReadonlyMap<Hir.LocalId, Hir.Type>
}

/** Copies code with the types that its variables have for some arguments. */
export class BodyCopy {
  readonly #program: EmittedProgram
  readonly #types: ArgumentTypes
  readonly #locals: Map<Hir.LocalId, Hir.Type>
  #source: readonly Hir.Local[] = []

  constructor(program: EmittedProgram, types: ArgumentTypes) {
    this.#program = program
    this.#types = types
    this.#locals = new Map(types.locals)
  }

  body(body: Hir.Body): Hir.Body {
    this.#source = body.locals
    const [defaults, block] = [this.#copy(body.defaults), this.#copy(body.block)] as [Hir.Body['defaults'], Hir.Block]
    const locals = body.locals.map((local, id) => ({ ...local, type: this.#locals.get(id) ?? this.#type(local.type) }))
    return { locals, params: body.params, defaults, block }
  }

  #type(type: Hir.Type): Hir.Type {
    return this.#program.types.substituted(type, this.#types.parameters)
  }

  #copy(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(each => this.#copy(each))
    if (typeof value !== 'object' || value === null) return value
    if ('kind' in value && value.kind === 'CallMethod') return this.#method(value as Hir.CallMethod)
    // The plan of a database operation has no types of the program.
    const entries = Object.entries(value).map(([key, each]) => {
      const part = key === 'type' ? this.#type(each as Hir.Type) : key === 'plan' ? each : this.#copy(each)
      // The body of the loop follows.
      if (key === 'iterable') this.#learn((value as Hir.For).binding, iteratedItemOf((part as Hir.Expr).type))
      return [key, part] as const
    })
    const copy = Object.fromEntries(entries) as HirNode
    if (copy.kind === 'Let') this.#learn(copy.pattern, copy.value.type)
    return 'type' in copy && copy.type.kind === 'any' ? { ...copy, type: this.#known(copy as Hir.Expr) } : copy
  }

  /** Copies the call of a method, whose receiver may be known now, and with it the parameters of functions in its arguments. */
  #method(node: Hir.CallMethod): Hir.CallMethod {
    const { types } = this.#program
    const receiver = this.#copy(node.receiver) as Hir.Expr
    const native = this.#program.methodOf(receiver.type, node.method)
    const known = new Map<string, Hir.Type>()
    if (native?.receiver) inferTypes(types.of(native.receiver), receiver.type, known)
    const ofReceiver = new Map(known)
    const args = node.args.map((arg, index) => {
      const declared = types.of(native?.params[index]?.type ?? ANY_VALUE)
      if (arg.kind === 'Lambda' && declared.kind === 'fn') {
        for (const [at, local] of arg.params.entries()) {
          const type = types.substituted(declared.params[at] ?? ANY, known)
          // A value that begins as an int may become a float.
          const isCertain = !isNamed(type, 'int') || types.substituted(declared.params[at] ?? ANY, ofReceiver) === type
          if (isCertain && !hasParameter(type)) this.#learn({ ...arg, kind: 'Bind', local }, type)
        }
      }
      const copy = this.#copy(arg) as Hir.Expr
      if (copy.kind !== 'Lambda' || declared.kind !== 'fn') {
        inferTypes(declared, copy.type, known)
        return copy
      }
      inferTypes(declared.result, copy.body.type, known)
      const type = types.substituted(declared, known)
      return hasParameter(type) ? copy : { ...copy, type }
    })
    const result = native === null ? ANY : types.substituted(types.of(native.result), known)
    const type = this.#type(node.type)
    return { ...node, receiver, args, type: type.kind !== 'any' || hasParameter(result) ? type : result }
  }

  /** Takes the type of a value for variables of type `any` that are never assigned. */
  #learn(pattern: Hir.Pattern, type: Hir.Type): void {
    if (pattern.kind === 'Tuple' && type.kind === 'tuple') {
      for (const [index, item] of pattern.items.entries()) this.#learn(item, type.items[index] ?? ANY)
    }
    if (pattern.kind !== 'Bind' || type.kind === 'any') return
    const local = this.#source[pattern.local]
    if (local?.type.kind === 'any' && !local.isMutable) this.#locals.set(pattern.local, type)
  }

  /** Returns the type of a value whose declared type is `any`. */
  #known(node: Hir.Expr): Hir.Type {
    if (node.kind === 'Local') return this.#locals.get(node.local) ?? node.type
    if (node.kind === 'Field') return this.#program.fieldType(node.object.type, node.name)
    if (node.kind === 'Index') return indexedItemOf(node.object.type)
    if (node.kind === 'Item' && node.object.type.kind === 'tuple') return node.object.type.items[node.index] ?? ANY
    if (node.kind === 'Block') return valueTypeOf(node.block)
    if (node.kind === 'If' && node.otherwise !== null) {
      const then = valueTypeOf(node.then)
      return then === valueTypeOf(node.otherwise) ? then : node.type
    }
    if (node.kind !== 'Binary') return node.type
    const [left, right] = [node.left.type, node.right.type]
    if (left === right) return left
    return isNamed(left, 'float') || isNamed(right, 'float') ? this.#program.types.named('float') : node.type
  }
}

function indexedItemOf(type: Hir.Type): Hir.Type {
  return isList(type) || isNamed(type, 'Map') ? itemOf(type) : ANY
}

/** Returns the type of the value of a block; `any` if it has none. */
export function valueTypeOf(block: Hir.Block): Hir.Type {
  const last = block.at(-1)
  return last?.kind === 'Expr' ? last.value.type : ANY
}
