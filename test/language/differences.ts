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

/** Returns the simplest program that still has a difference. */
export function simplestProgram(choices: readonly number[], budget?: number): string {
  const least = shrink(choices, each => differenceOf(generateProgram(each)) !== null, budget)
  return generateProgram(new Choices(least))
}
