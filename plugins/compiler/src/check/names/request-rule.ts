import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Member } from '../../syntax/ast-expressions.ts'
import { guardOf } from '../../syntax/guard-decorators.ts'
import type { BodyPosition, BodyRule } from './body-rule.ts'

/** Reports `request.user` where no guard proves an identity. */
export class RequestRule implements BodyRule {
  readonly found: Diagnostic[] = []

  member({ object, property, ...node }: Member, position: BodyPosition): void {
    if (object.kind !== 'Identifier' || object.name !== 'request') return
    if (property.text !== 'user' && property.text !== 'account') return
    const meaning = position.meaning('request')
    if (meaning?.kind !== 'local' || meaning.local.kind !== 'implicit' || hasAuth(position.item)) return
    const message = `\`request.${property.text}\` needs a proven identity, but the function has no \`@auth\``
    const suggestions = ['add `@auth`, or `@auth(optional: true)` if callers may be anonymous']
    this.found.push(diagnostic('auth.unguarded', message, node, { suggestions }))
  }
}

function hasAuth(item: Declaration): boolean {
  const guard = 'decorators' in item ? guardOf(item.decorators) : null
  return guard !== null && guard.auth !== null
}
