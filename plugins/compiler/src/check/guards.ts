import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Decorator } from '../syntax/ast.ts'
import type { AnyNode } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

/** Suggested alternative for each guard that is not enforced yet, by decorator name. */
const ALTERNATIVES: Readonly<Record<string, string>> = {
  auth: 'remove the decorator, and require a token for the whole server: set `plugins.http.token`',
  rate_limit: 'remove the decorator, and limit the rate in a proxy in front of the server',
  cors: 'remove the decorator, and allow origins for the whole server: set `plugins.http.cors_origins`',
  webhook: 'remove the decorator, and verify the signature in a proxy in front of the server'
}

/** Reports guards that are not enforced: the program would be served without protection. */
export class GuardsRule implements NodeRule {
  readonly found: Diagnostic[] = []

  node(node: AnyNode): void {
    if (node.kind !== 'Decorator') return
    const { name } = node as Decorator
    if (!Object.hasOwn(ALTERNATIVES, name.text)) return
    // The span of a decorator's name starts after the `@`.
    const span = { start: name.start - 1, end: name.end }
    this.found.push(
      diagnostic('auth.not_enforced', `\`@${name.text}\` is not enforced yet: requests would pass without it`, span, {
        suggestions: [ALTERNATIVES[name.text] as string]
      })
    )
  }
}
