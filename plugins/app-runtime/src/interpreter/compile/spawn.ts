import type { HirArgument, HirExpression, HirParam, HirSpan } from '@svc/contracts'
import { fail } from '../failure.ts'
import type { Eval } from '../machine.ts'
import type { Value } from '../value.ts'
import { type BodyCompiler, unsupported } from './body-compiler.ts'

/** Compiles `spawn(A)` and `spawn(A(1, 2))`. */
export function compileSpawn(body: BodyCompiler, [target, { start: at }]: readonly [HirExpression, HirSpan]): Eval {
  const [callee, args] = 'Call' in target ? [target.Call[0], target.Call[1]] : [target, []]
  const name = 'Ident' in callee ? callee.Ident[0] : null
  const params = name === null ? null : body.names.actorParams(name)
  if (name === null || params === null)
    return unsupported(`spawn of ${name ?? 'an expression'}, which is not an actor,`, at)
  const slots = args.map((argument, index) => slotOf(argument, index, params))
  const wrong = slots.findIndex((slot, index) => slot < 0 || slot >= params.length || slots.indexOf(slot) < index)
  const missing = params.find((param, slot) => param.default === null && !slots.includes(slot))
  if (wrong >= 0 || missing !== undefined) {
    const problem =
      missing === undefined
        ? `takes ${params.length} ${params.length === 1 ? 'argument' : 'arguments'}`
        : `needs an argument ${missing.name}`
    return () => fail('RUN_ARGUMENTS', `${name} ${problem}`, at)
  }
  const values = args.map(({ value }) => body.value(value))
  // Only arguments at the end may be omitted; they get their defaults when the instance is created.
  const length = Math.max(-1, ...slots) + 1
  if (length > slots.length) return () => fail('RUN_ARGUMENTS', `spawn of ${name} may omit only its last arguments`, at)
  const { machine } = body
  return frame => {
    const spawnArgs: Value[] = new Array(length)
    for (const [index, value] of values.entries()) spawnArgs[slots[index] as number] = value(frame)
    return machine.actors?.spawn(name, spawnArgs) ?? fail('RUN_UNSUPPORTED', `${name} cannot be spawned here`, at)
  }
}

function slotOf({ name }: HirArgument, index: number, params: readonly HirParam[]): number {
  return name === null ? index : params.findIndex(param => param.name === name)
}
