import { show, type ValueType } from '../check/types/type.ts'
import type { Actor, Agent } from '../syntax/ast.ts'
import type { Expression } from '../syntax/ast-expressions.ts'
import { BUILTIN_DEFS } from '../types/builtin-types.ts'
import { NATIVES } from '../types/natives.ts'
import type { NativeSignature } from '../types/natives-contract.ts'
import type { TypeDef } from '../types/type.ts'
import type { Analysis } from './analysis.ts'
import { methodDeclaration } from './natives.ts'

/** What the editor shows of the type of an expression. */
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
  const type = types.byExpression.get(expression)
  if (type === undefined || type.kind === 'any') return null
  const fields = types.reader.fieldsOf(type) ?? new Map<string, ValueType>()
  return {
    text: show(type),
    fields: new Map(Array.from(fields, ([name, field]) => [name, show(field)])),
    actor: type.kind === 'actor' ? type.declaration : null,
    methods: methodsOf(type)
  }
}

function methodsOf(type: ValueType): KnownMethod[] {
  if (type.kind === 'dbResult') {
    const results = methodsOf({ kind: 'generic', name: 'Result', args: [type.value] })
    return [...results, ...methodsOf(type.value)]
  }
  const def = definitionOf(type)
  if (def === undefined) return []
  const args = type.kind === 'generic' ? type.args.map(show) : []
  return (NATIVES.methodNames(def) ?? []).flatMap(name => {
    const signature = NATIVES.method(def, name)
    if (signature === undefined) return []
    return [{ name, declaration: methodDeclaration(signature, show(type), args), signature }]
  })
}

/** Returns the definition whose methods a value has. A record has those of a Map. */
function definitionOf(type: ValueType): TypeDef | undefined {
  if (type.kind === 'plain' || type.kind === 'generic') return BUILTIN_DEFS.get(type.name)
  return type.kind === 'record' ? BUILTIN_DEFS.get('Map') : undefined
}
