import type { Hir } from '@svc/contracts'
import type { Doc } from '../doc/doc.ts'
import { call, Level, operand } from './code.ts'
import { bind, bindingOf, type Emitter, inScope } from './emitter.ts'
import { closed } from './expressions.ts'
import { literal } from './names.ts'
import type { EmittedCondition } from './program.ts'

/** Translates the conditions of a function, whose parameters are bound. `result`: code of its result. */
export function conditionStatements(
  e: Emitter,
  conditions: readonly EmittedCondition[],
  params: readonly Hir.LocalId[],
  result: string
): Doc[] {
  return conditions.map(({ message, body }) => {
    const inner: Emitter = { ...e, locals: body.locals, bound: new Map() }
    return inScope(inner, () => {
      for (const [index, local] of body.params.entries()) {
        const param = params[index]
        if (param !== undefined) bind(inner, local, { as: bindingOf(e, param).name })
      }
      const own = body.locals.findIndex(({ name }, id) => name === 'result' && !body.params.includes(id))
      if (own >= 0) bind(inner, own, { as: result })
      const condition = operand(closed(inner, body.block), Level.choice)
      return call(e.file.helper('assert'), condition, literal(message)).doc
    })
  })
}
