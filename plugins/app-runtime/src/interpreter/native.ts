import { defined } from '@svc/plugin-sdk'
import { fail } from './failure.ts'
import type { Capability } from './host.ts'
import type { Machine } from './machine.ts'
import { typeName } from './type-name.ts'
import { Callable, Float, isInt, isList, type Value } from './value.ts'

/** A function of the host. It throws without a position, which the caller adds. */
export interface Native {
  readonly minArgs: number
  readonly maxArgs: number
  readonly capability?: Capability
  /** True if a repeated call may return another value: the clock, random numbers, a wait. */
  readonly isUnrepeatable?: true
  readonly run: (args: readonly Value[], machine: Machine) => Value
}

export function native(minArgs: number, maxArgs: number, run: Native['run'], capability?: Capability): Native {
  return { minArgs, maxArgs, run, ...defined({ capability }) }
}

/** Declares a non-deterministic function. Functions that need a capability are always non-deterministic. */
export function unrepeatable(minArgs: number, maxArgs: number, run: Native['run']): Native {
  return { minArgs, maxArgs, run, isUnrepeatable: true }
}

/** Capabilities whose effects cannot be rolled back. */
const EFFECTFUL: ReadonlySet<Capability> = new Set(['browser', 'fs', 'net', 'process'])

/** Calls a native function. Throws `RUN_ARGUMENTS`, `RUN_CAPABILITY_DENIED`, and the errors of the function. */
export function callNative(
  machine: Machine,
  name: string,
  { minArgs, maxArgs, capability, isUnrepeatable, run }: Native,
  args: Value[]
): Value {
  if (args.length < minArgs || args.length > maxArgs) {
    const takes =
      minArgs === maxArgs
        ? `${minArgs}`
        : maxArgs === Number.POSITIVE_INFINITY
          ? `${minArgs} or more`
          : `${minArgs} to ${maxArgs}`
    fail('RUN_ARGUMENTS', `${name} takes ${takes} ${takes === '1' ? 'argument' : 'arguments'}, got ${args.length}`)
  }
  if (capability !== undefined && !machine.host.capabilities.has(capability)) {
    fail('RUN_CAPABILITY_DENIED', `${name} needs the capability ${capability}, which the program was not granted`)
  }
  if (machine.workflow !== null && (capability !== undefined || isUnrepeatable === true)) machine.workflow.refuse(name)
  if (capability !== undefined && EFFECTFUL.has(capability)) machine.host.onEffect?.()
  return run(args, machine)
}

export function textArg(args: readonly Value[], index: number): string {
  const value = args[index]
  return typeof value === 'string' ? value : wrong('a str', value)
}

/** Returns an int argument as a number, which is inexact for ints beyond 2^53. */
export function intArg(args: readonly Value[], index: number): number {
  const value = args[index]
  return value !== undefined && isInt(value) ? Number(value) : wrong('an int', value)
}

/** Returns an int or float argument as a number. */
export function numberArg(args: readonly Value[], index: number): number {
  const value = args[index]
  if (value instanceof Float) return value.value
  return value !== undefined && isInt(value) ? Number(value) : wrong('a number', value)
}

export function listArg(args: readonly Value[], index: number): readonly Value[] {
  const value = args[index]
  return value !== undefined && isList(value) ? value : wrong('a List', value)
}

export function functionArg(args: readonly Value[], index: number): Callable {
  const value = args[index]
  return value instanceof Callable ? value : wrong('a function', value)
}

function wrong(expected: string, value: Value | undefined): never {
  return fail('RUN_TYPE', `expected ${expected}, found ${value === undefined ? 'nothing' : typeName(value)}`)
}
