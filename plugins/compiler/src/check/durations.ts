import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import { DURATION_HELP, durationProblems, wrongDuration } from '../types/durations.ts'

/** Reports `@scheduled` functions without a valid interval; they could not be scheduled. */
export function checkSchedules({ items }: Module): Diagnostic[] {
  return items.flatMap(scheduleOf)
}

function scheduleOf(item: Declaration): Diagnostic[] {
  if (item.kind !== 'Function') return []
  const decorator = item.decorators.find(({ name }) => name.text === 'scheduled')
  if (decorator === undefined) return []
  const args = decorator.args ?? []
  const interval = args.find(({ name }) => name?.text === 'every') ?? args.find(({ name }) => name === null)
  const value = interval?.value ?? decorator.strings[0]
  const suffix = `of \`${item.name.text}\``
  if (value === undefined) {
    const suggestions = ['write `@scheduled("5m")`', DURATION_HELP]
    return [diagnostic('typecheck.duration', `the schedule ${suffix} has no interval`, decorator, { suggestions })]
  }
  // The compiler does not evaluate expressions, and numbers have no unit.
  if (value.kind !== 'String') return [wrongDuration(`the schedule ${suffix} is not a duration literal`, value)]
  return durationProblems(`the schedule ${suffix}`, value)
}
