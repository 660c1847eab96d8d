import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Call } from '../../syntax/ast-expressions.ts'
import { durationProblems } from '../durations.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

const WAITS: ReadonlySet<string> = new Set(['sleep', 'workflow_wait'])

/** Checks literal durations in calls of waiting functions. */
export class DurationsRule implements BodyRule {
  readonly found: Diagnostic[] = []

  call({ callee, args }: Call, piped: 0 | 1, position: BodyPosition): void {
    const [first] = args
    if (piped === 1 || first === undefined || callee.kind !== 'Identifier' || !WAITS.has(callee.name)) return
    if (position.meaning(callee.name)?.kind !== 'builtin') return
    this.found.push(...durationProblems(`the duration of \`${callee.name}\``, first.value))
  }
}
