import { type Diagnostic, diagnostic, spellingFix } from '../../diagnostics/diagnostic.ts'
import type { Spawn } from '../../syntax/ast-expressions.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

/** Maximum number of findings with a "did you mean" suggestion. */
const MAX_SUGGESTIONS = 100

/** Reports spawned values that are not actors. */
export class ActorsRule implements BodyRule {
  readonly found: Diagnostic[] = []

  spawn({ target }: Spawn, position: BodyPosition): void {
    if (target.kind === 'Missing') return
    const named = target.kind === 'Call' ? target.callee : target
    const meaning = named.kind === 'Identifier' ? position.meaning(named.name) : null
    if (meaning?.kind === 'module' && (meaning.entry.kind === 'actor' || meaning.entry.kind === 'import')) return
    const near =
      named.kind === 'Identifier' && this.found.length < MAX_SUGGESTIONS ? nearActor(named.name, position) : undefined
    const message = named.kind === 'Identifier' ? `\`${named.name}\` is not an actor` : 'only an actor can be spawned'
    this.found.push(
      diagnostic('typecheck.actor.spawn_target', message, named, {
        suggestions: ['write `spawn(Name)` with the name of an actor'],
        ...spellingFix(near, named)
      })
    )
  }
}

function nearActor(name: string, { names }: BodyPosition): string | undefined {
  return nearName(
    name,
    [...names].flatMap(([known, { kind }]) => (kind === 'actor' ? [known] : []))
  )
}
