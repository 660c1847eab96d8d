import type { ProgramCondition } from '@svc/contracts'
import type { Expression, FunctionDeclaration } from '../syntax/ast.ts'

const CONDITIONS = ['require', 'ensure', 'invariant'] as const

/** A condition of a function as written. */
export interface Condition extends Pick<ProgramCondition, 'kind' | 'message'> {
  readonly value: Expression
}

/** Returns the conditions of a function, by kind. */
export function conditionsOf({ decorators }: FunctionDeclaration): Condition[] {
  return CONDITIONS.flatMap(kind =>
    decorators
      .filter(({ name }) => name.text === kind)
      .flatMap(({ args, strings }) => {
        const [condition, other] = args ?? []
        if (condition === undefined) return []
        const message = other?.value.kind === 'String' ? other.value.value : (strings[0]?.value ?? null)
        return [{ kind, value: condition.value, message }]
      })
  )
}
