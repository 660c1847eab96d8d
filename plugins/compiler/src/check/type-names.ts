import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import { insteadOfType } from '../diagnostics/other-languages.ts'
import type { Declaration, Module, NamedType } from '../syntax/ast.ts'
import { nearName } from '../syntax/near-name.ts'
import type { AnyNode } from '../syntax/walk.ts'
import { deprecation, importedNames } from '../types/module-names.ts'
import type { NodeRule } from './node-rule.ts'

/** Types that every program has. */
const BUILTIN_TYPES: ReadonlySet<string> = new Set(
  (
    'int float str bool char dec unit Unit never any Element List list Map map Set set Stream Tensor Option Result Id ' +
    'Json JsonBody Regex Match Request Response Database Table Handle cap Self Page File'
  ).split(' ')
)

/** Maximum number of findings with a "did you mean" suggestion. */
const MAX_SUGGESTIONS = 100

/**
 * Reports unresolved type names and deprecated types. A value of an unknown type fits everywhere, so an unresolved name
 * is only a warning unless the check is strict.
 */
export class TypeNamesRule implements NodeRule {
  readonly kinds = ['NamedType']
  readonly found: Diagnostic[] = []
  readonly #known: ReadonlySet<string>
  readonly #deprecated: ReadonlyMap<string, Declaration>

  constructor({ items }: Module) {
    this.#deprecated = new Map(
      items.flatMap(item =>
        'decorators' in item && deprecation(item.decorators) !== undefined
          ? typeNames(item).map(name => [name, item] as const)
          : []
      )
    )
    this.#known = new Set([...BUILTIN_TYPES, ...items.flatMap(typeNames)])
  }

  node(node: AnyNode, item: Declaration): void {
    if (node.kind !== 'NamedType') return
    const [name, ...rest] = (node as NamedType).path
    // A qualified name is resolved by its owner.
    if (name === undefined || rest.length > 0 || name.text === '') return
    if ('generics' in item && item.generics.some(({ text }) => text === name.text)) return
    const deprecated = this.#deprecated.get(name.text)
    if (deprecated !== undefined && deprecated !== item) {
      this.found.push(diagnostic('typecheck.deprecated_ident', `\`${name.text}\` is deprecated`, name))
    }
    if (this.#known.has(name.text)) return
    const instead = insteadOfType(name.text)
    const near = this.found.length < MAX_SUGGESTIONS ? (instead ?? nearName(name.text, [...this.#known])) : undefined
    this.found.push(
      diagnostic('typecheck.undefined_type', `there is no type \`${name.text}\``, name, {
        ...(near === undefined
          ? { suggestions: [`declare it: \`type ${name.text} = …\``] }
          : {
              suggestions: [`did you mean \`${near}\`?`],
              fixes: [{ label: `write ${near}`, span: name, replacement: near }]
            })
      })
    )
  }
}

function typeNames(item: Declaration): string[] {
  switch (item.kind) {
    case 'Import':
      return item.items.flatMap(each => importedNames(each).map(({ text }) => text))
    case 'Type':
    case 'Table':
    case 'Actor':
    case 'Agent':
    case 'StateMachine':
    case 'Url':
    case 'Form':
    case 'Component':
    case 'Island':
    case 'V0':
      return [item.name.text]
    default:
      return []
  }
}
