import type { Actor, Agent } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { MAP, result } from '../types/builtin-types.ts'
import { NATIVES } from '../types/natives/natives.ts'
import type { NativeSignature } from '../types/natives/natives-contract.ts'
import { show } from '../types/show.ts'
import { resolved, type Type, type TypeDef } from '../types/type.ts'
import type { TypedModule } from '../types/typed-module.ts'
import type { Analysis } from './analysis.ts'
import { methodDeclaration } from './natives.ts'

/** The type of an expression, as the editor shows it. */
export interface KnownType {
  /** The type as text. */
  readonly text: string
  /** Fields with their types, in the order of declaration. */
  readonly fields: ReadonlyMap<string, string>
  /** The actor or agent of a handle; null for other types. */
  readonly actor: Actor | Agent | null
  readonly methods: readonly KnownMethod[]
}

export interface KnownMethod {
  readonly name: string
  /** `List[int].push(item: int) to List[int]` */
  readonly declaration: string
  readonly signature: NativeSignature
}

/** Returns the type of an expression; null if it is unknown. */
export function knownType(expression: Expression, { types }: Analysis): KnownType | null {
  const type = types.typeOf(expression)
  if (type.kind === 'any' || type.kind === 'error' || type.kind === 'var') return null
  return {
    text: show(type),
    fields: fieldsOf(type, types),
    actor: type.kind === 'named' && type.def.kind === 'actor' ? (type.def.declaration as Actor | Agent) : null,
    methods: methodsOf(type)
  }
}

function fieldsOf(type: Type, types: TypedModule): ReadonlyMap<string, string> {
  const known = resolved(type)
  if (known.kind === 'record') return new Map(Array.from(known.fields, ([name, field]) => [name, show(field)]))
  if (known.kind !== 'named') return new Map()
  return new Map(Array.from(known.def.fields ?? [], ([name, field]) => [name, show(types.fieldType(known, field))]))
}

function methodsOf(type: Type): KnownMethod[] {
  const known = resolved(type)
  if (known.kind === 'answer') return [...methodsOf(result(known.value)), ...methodsOf(known.value)]
  const def = definitionOf(known)
  if (def === null) return []
  const args = known.kind === 'named' ? known.args.map(show) : []
  return (NATIVES.methodNames(def) ?? []).flatMap(name => {
    const signature = NATIVES.method(def, name)
    if (signature === undefined) return []
    return [{ name, declaration: methodDeclaration(signature, show(known), args), signature }]
  })
}

/** Returns the definition whose methods a value has. A record has those of a Map. */
function definitionOf(type: Type): TypeDef | null {
  if (type.kind === 'named') return type.def
  return type.kind === 'record' ? MAP : null
}
