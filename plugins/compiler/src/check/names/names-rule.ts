import { type Diagnostic, diagnostic, type Fix } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { Identifier, Member, Spawn } from '../../syntax/ast-expressions.ts'
import type { Assign, ConstructorPattern } from '../../syntax/ast-statements.ts'
import { nearName } from '../../syntax/near-name.ts'
import type { Span } from '../../syntax/node.ts'
import { isViewTag } from '../../syntax/view-tags.ts'
import { tableOf } from '../../types/db/chain.ts'
import type { BodyPosition, BodyRule, Meaning } from './body-rule.ts'
import type { ModuleName } from './module-names.ts'
import type { LocalName } from './scopes.ts'

/**
 * Maximum number of findings with a suggestion. Each suggestion compares a name with all others, which is slow in a
 * file with many errors.
 */
const MAX_SUGGESTIONS = 100

/** Reports unresolved names, deprecated names, and assignments to immutable variables. */
export class NamesRule implements BodyRule {
  readonly found: Diagnostic[] = []
  readonly #strict: boolean
  #compared = 0

  /** With `strict`, names from the host must be declared, too. */
  constructor(strict: boolean) {
    this.#strict = strict
  }

  bind({ name }: LocalName, _place: BodyPosition): void {
    if (name.text !== 'db') return
    this.found.push(diagnostic('typecheck.reserved_name', '`db` is reserved for the database', name))
  }

  identifier(node: Identifier, meaning: Meaning, position: BodyPosition): void {
    if (meaning === null) this.#undefined(node.name, node, position)
    else if (meaning.kind === 'module') this.#deprecated(meaning.entry, node, position)
  }

  member(node: Member, position: BodyPosition): void {
    const table = tableOf(node)
    const entry = table === null ? undefined : position.names.get(table.text)
    if (table !== null && entry !== undefined) this.#deprecated(entry, table, position)
  }

  spawn({ target }: Spawn, position: BodyPosition): void {
    const named = target.kind === 'Call' ? target.callee : target
    const meaning = named.kind === 'Identifier' ? position.meaning(named.name) : null
    if (meaning?.kind === 'module') this.#deprecated(meaning.entry, named, position)
  }

  #deprecated({ isDeprecated, declaration, name }: ModuleName, at: Span, { item }: BodyPosition): void {
    if (!isDeprecated || declaration === item) return
    const related = [{ span: name, message: 'declared here' }]
    this.found.push(diagnostic('typecheck.deprecated_ident', `\`${name.text}\` is deprecated`, at, { related }))
  }

  constructorPattern({ name, args }: ConstructorPattern, position: BodyPosition): void {
    const meaning = position.meaning(name.text)
    if (meaning === null) this.#undefined(name.text, name, position)
    if (meaning?.kind !== 'module' || meaning.entry.kind !== 'constructor' || args === null) return
    const expected = meaning.entry.signature?.params.length
    if (expected === undefined || expected === args.length) return
    const message = `\`${name.text}\` has ${values(expected)}, but the pattern has ${args.length}`
    const related = [{ span: meaning.entry.name, message: 'declared here' }]
    this.found.push(diagnostic('typecheck.arity', message, name, { related }))
  }

  assign({ target }: Assign, position: BodyPosition): void {
    if (target.kind !== 'Identifier') return
    const meaning = position.meaning(target.name)
    if (meaning === null || (meaning.kind === 'local' && meaning.local.isMutable)) return
    const fixes: Fix[] = []
    const suggestions: string[] = []
    if (meaning.kind === 'local') {
      const { name, kind, canBeMutable } = meaning.local
      const at = { start: name.start, end: name.start }
      if (canBeMutable) fixes.push({ label: `write \`let mut ${name.text}\``, span: at, replacement: 'mut ' })
      else if (kind === 'parameter') suggestions.push(`write \`let mut\` with a new name; parameters are immutable`)
    }
    const message = `cannot assign to immutable variable \`${target.name}\``
    this.found.push(diagnostic('typecheck.immutable_assign', message, target, { fixes, suggestions }))
  }

  #undefined(name: string, span: Span, position: BodyPosition): void {
    if (name === '_' || name === 'db' || (!this.#strict && isSupplied(name, position)) || isTag(name, position)) return
    const near = this.#compared++ < MAX_SUGGESTIONS ? nearName(name, position.known()) : undefined
    this.found.push(
      diagnostic('typecheck.undefined', `\`${name}\` is not declared`, span, {
        // The worker that runs the workflow may have registered the activity.
        ...(position.item.kind === 'Workflow' ? { severity: 'warning' } : {}),
        ...(near === undefined
          ? {}
          : {
              suggestions: [`did you mean \`${near}\`?`],
              fixes: [{ label: `write ${near}`, span, replacement: near }]
            })
      })
    )
  }
}

/** True for names that the host may supply: remote steps in workflows, and React hooks in components. */
function isSupplied(name: string, { item }: BodyPosition): boolean {
  if (name.startsWith('mesh_')) return true
  return item.kind === 'Function' && (item.role === 'component' || item.role === 'island') && name.startsWith('use_')
}

/** True if the call is an element with positional arguments; the parser cannot distinguish it from other calls. */
function isTag(name: string, { item }: BodyPosition): boolean {
  return showsView(item) && /^[a-z]/.test(name) && isViewTag(name)
}

function showsView(item: Declaration): boolean {
  if (item.kind !== 'Function') return item.kind === 'Component' || item.kind === 'Fragment'
  const { role, result } = item
  const isElement = result?.kind === 'NamedType' && result.path.at(-1)?.text === 'Element'
  return isElement || role === 'component' || role === 'island' || role === 'loading'
}

function values(count: number): string {
  return count === 0 ? 'no values' : count === 1 ? 'one value' : `${count} values`
}
