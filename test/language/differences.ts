import { Choices, shrink } from './choices.ts'
import { generateProgram } from './generate.ts'
import { difference, runBoth } from './run-both.ts'

/** Returns how the back ends differ for a program, or why it does not compile; null if its traces are equal. */
export function differenceOf(source: string): string | null {
  try {
    return difference(runBoth(source))
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** True for a difference of traces, false for a program that does not compile. */
const isOfTraces = (found: string): boolean => /^(line \d+: )?interpreted /.test(found)

/** Returns the simplest program that still has a difference, or still does not compile. */
export function simplestProgram(choices: readonly number[], budget?: number): string {
  const first = differenceOf(generateProgram(new Choices(choices)))
  const fails = (each: Choices): boolean => {
    const found = differenceOf(generateProgram(each))
    return found !== null && first !== null && isOfTraces(found) === isOfTraces(first)
  }
  return generateProgram(new Choices(shrink(choices, fails, budget)))
}
