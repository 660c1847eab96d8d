import { type Hir, type HirNode, walkHir } from '@svc/contracts'
import { type ArgumentTypes, BodyCopy, valueTypeOf } from './body-copy.ts'
import { decimalPlaces } from './decimals.ts'
import type { EmittedCondition, EmittedProgram } from './program.ts'
import { textShape } from './text-shape.ts'
import { codeOfBody } from './used-names.ts'
import { ANY, depthOf, hasParameter, inferTypes, isOpen, isUnknown } from './value-types.ts'

/** A copy of a function for some types of its arguments. */
export interface Instance {
  /** Name of the function. */
  readonly of: string
  readonly body: Hir.Body
  readonly result: Hir.Type
  readonly conditions: readonly EmittedCondition[]
}

/**
 * Knowledge that code needs of the values whose type is a parameter: nothing, whether a part of them has another form in
 * TypeScript, or the type itself.
 */
type TypeUse = 'none' | 'shape' | 'all'

/** Natives that compare, print or convert values. */
const SHAPED: ReadonlySet<string> = new Set([
  ...['str', 'to_string', 'print', 'assert', 'panic', 'int', 'float', 'dec', 'bool', 'type_of'],
  ...['std.math.min', 'std.math.max', 'List.contains', 'List.join', 'List.sort', 'List.sort_by']
])

/** Limit of the depth of types, which grows without end in a function that calls itself with larger types. */
const MAX_TYPE_DEPTH = 8

/**
 * Copies of functions whose parameters have open types: type parameters or `any`. In TypeScript, a `dec` is a string, a
 * tuple an array, and an option a value or null, so that code that compares or prints a value has to know its type.
 */
export class Instances {
  readonly #program: EmittedProgram
  readonly #byName = new Map<string, Instance>()
  readonly #names = new Map<string, string>()
  readonly #uses = new Map<string, TypeUse>()

  constructor(program: EmittedProgram) {
    this.#program = program
  }

  get(name: string): Instance | undefined {
    return this.#byName.get(name)
  }

  /** Returns the name of the copy that a call needs; that of the function itself if it is right for these types. */
  ofCall({ name, args, params, type, start, end }: Hir.Call, typeOf: (node: Hir.Expr) => Hir.Type): string {
    const body = this.#program.body(name)
    if (body === null) return name
    const used = args.map((arg, index) => [params[index] ?? index, typeOf(arg)] as const)
    return this.#named(name, body, used, type, { start, end })
  }

  /** Like {@link ofCall}, for a function as a value. */
  ofValue({ name, type, start, end }: Hir.FunctionValue): string {
    const body = this.#program.body(name)
    if (body === null || type.kind !== 'fn') return name
    return this.#named(name, body, [...type.params.entries()], type.result, { start, end })
  }

  #named(
    name: string,
    body: Hir.Body,
    used: readonly (readonly [param: number, type: Hir.Type])[],
    result: Hir.Type,
    place: Hir.Span
  ): string {
    const use = this.#typeUse(name)
    if (use === 'none') return name
    const types: ArgumentTypes = {
      parameters: this.typeArguments(name, body, used, result),
      locals: openLocals(body, used)
    }
    const known = [...types.parameters.values(), ...types.locals.values()]
    if (!this.#counts(known, use)) return name
    const key = `${name} ${JSON.stringify([[...types.parameters], [...types.locals]])}`
    const before = this.#names.get(key)
    if (before !== undefined) return before
    if (known.some(type => depthOf(type) > MAX_TYPE_DEPTH)) {
      this.#program.report(
        'web.not_in_browser',
        `\`${name}\` with types that grow is not available in a browser`,
        place
      )
      return name
    }
    const made = `${name}$${[...this.#byName.values()].filter(each => each.of === name).length + 1}`
    this.#names.set(key, made)
    const copy = this.substituted(body, types)
    this.#byName.set(made, {
      of: name,
      body: copy,
      result: this.#resultOf(name, copy, types),
      conditions: this.#program.conditionsOf(name).map(condition => ({
        ...condition,
        body: this.substituted(condition.body, inParams(types, body.params, condition.body.params))
      }))
    })
    return made
  }

  /** Returns the types that the type parameters of a function have in a call. */
  typeArguments(
    name: string,
    body: Hir.Body,
    used: readonly (readonly [param: number, type: Hir.Type])[],
    result: Hir.Type
  ): Map<string, Hir.Type> {
    const known = new Map<string, Hir.Type>()
    const declaration = this.#program.names.get(name)?.declaration
    if (declaration !== undefined) inferTypes(this.#program.resultOf(declaration), result, known)
    for (const [param, type] of used) {
      const local = body.params[param]
      const declared = local === undefined ? undefined : body.locals[local]?.type
      if (declared !== undefined) inferTypes(declared, type, known)
    }
    return known
  }

  /** Returns the type of the results of a copy. One of type `any` may have become known. */
  #resultOf(name: string, { block }: Hir.Body, { parameters }: ArgumentTypes): Hir.Type {
    const declaration = this.#program.names.get(name)?.declaration
    const declared = declaration === undefined ? ANY : this.#program.resultOf(declaration)
    if (declared.kind !== 'any' || block.some(leaves)) {
      return this.#program.types.substituted(declared, parameters)
    }
    return valueTypeOf(block)
  }

  /** Replaces the open types of code. */
  substituted(body: Hir.Body, types: ArgumentTypes): Hir.Body {
    return new BodyCopy(this.#program, types).body(body)
  }

  /** True if code that does not know these types would not do what it does with them. */
  #counts(known: readonly Hir.Type[], use: TypeUse): boolean {
    if (known.some(hasParameter)) return false
    if (use === 'all') return known.some(({ kind }) => kind !== 'any' && kind !== 'never')
    const program = this.#program
    return known.some(type => decimalPlaces(type, program) !== null || textShape(type, program) !== null)
  }

  /** Returns how a function, and those that it calls, use values whose type is a parameter. */
  #typeUse(name: string): TypeUse {
    const known = this.#uses.get(name)
    if (known !== undefined) return known
    let use: TypeUse = 'none'
    const names = new Set([name])
    for (const each of names) {
      const body = this.#program.kindOf(each) === 'local' ? this.#program.body(each) : null
      if (body === null || !body.params.some(param => isOpen(body.locals[param]?.type ?? ANY))) continue
      const conditions = this.#program.conditionsOf(each).flatMap(condition => condition.body.block)
      for (const root of [...codeOfBody(body), ...conditions]) {
        walkHir(root, node => {
          const found = node.kind === 'Call' ? this.#callUse(node) : nodeUse(node)
          if (found === 'all' || use === 'none') use = found
          if (node.kind === 'Call' || node.kind === 'Function') names.add(node.name)
          return use !== 'all'
        })
      }
    }
    this.#uses.set(name, use)
    return use
  }

  /** A function that passes `(x, x)` on passes a tuple, whatever the type of `x` is. */
  #callUse({ args }: Hir.Call): TypeUse {
    const isShaped = args.some(({ type }) => hasParameter(type) && textShape(type, this.#program) !== null)
    return isShaped ? 'all' : 'none'
  }
}

function nodeUse(node: HirNode): TypeUse {
  switch (node.kind) {
    case 'Binary': {
      const sides = [node.left.type, node.right.type]
      if (!sides.some(isOpen)) return 'none'
      const isCalculated = ['sub', 'mul', 'div', 'mod'].includes(node.operator)
      return isCalculated || (node.operator === 'add' && sides.every(isUnknown)) ? 'all' : 'shape'
    }
    case 'Unary':
      return isOpen(node.operand.type) ? 'all' : 'none'
    case 'Index':
    case 'Item':
      return isUnknown(node.object.type) ? 'all' : 'none'
    case 'For':
      return isUnknown(node.iterable.type) ? 'all' : 'none'
    case 'CallMethod':
      return isOpen(node.receiver.type) ? 'all' : 'none'
    case 'CallNative': {
      const values = node.receiver === null ? node.args : [node.receiver, ...node.args]
      const isShaped = SHAPED.has(node.native) || node.native.endsWith('.to_str')
      return isShaped && values.some(({ type }) => isOpen(type)) ? 'shape' : 'none'
    }
    case 'Match':
      return isOpen(node.subject.type) ? 'shape' : 'none'
    default:
      return 'none'
  }
}

/** Returns the types of the arguments for the parameters of type `any`, which are never assigned. */
function openLocals(
  { params, locals }: Hir.Body,
  used: readonly (readonly [param: number, type: Hir.Type])[]
): Map<Hir.LocalId, Hir.Type> {
  const open = used.flatMap(([param, type]) => {
    const local = params[param]
    const declared = local === undefined ? undefined : locals[local]
    return declared?.type.kind === 'any' && !declared.isMutable ? [[local as Hir.LocalId, type] as const] : []
  })
  return new Map(open)
}

/** Returns the types for other code with the same parameters. */
function inParams(
  { parameters, locals }: ArgumentTypes,
  params: readonly Hir.LocalId[],
  others: readonly Hir.LocalId[]
): ArgumentTypes {
  const moved = [...locals].map(([local, type]) => [others[params.indexOf(local)] ?? -1, type] as const)
  return { parameters, locals: new Map(moved) }
}

/** True for code with another way out than its end. */
function leaves(code: HirNode): boolean {
  return contains(code, ({ kind }) => kind === 'Return' || kind === 'Try')
}

/** True for a function that asks for the type of a value. */
export function distinguishesTypes({ block }: Hir.Body): boolean {
  return block.some(each => contains(each, node => node.kind === 'CallNative' && node.native === 'type_of'))
}

function contains(code: HirNode, isWanted: (node: HirNode) => boolean): boolean {
  let found = false
  walkHir(code, node => {
    found ||= isWanted(node)
    return !found
  })
  return found
}
