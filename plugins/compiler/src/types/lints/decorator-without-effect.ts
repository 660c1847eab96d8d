import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration, Decorator } from '../../syntax/ast.ts'
import type { AnyNode } from '../../syntax/walk.ts'

/** Decorators that the language knows, but that change nothing. */
const NEVER: ReadonlySet<string> = new Set(
  (
    'reactive cancellable remote inference pii embed offline_capable collaborative layer training_step ' +
    'distributed_train'
  ).split(' ')
)

/** Decorators that only a function has. */
const OF_FUNCTIONS: ReadonlySet<string> = new Set(
  'pure require ensure invariant scheduled uses native ai prompt subagent search hole'.split(' ')
)

/** Reports decorators that do not change what they mark: a program would rely on what nothing does. */
export class DecoratorWithoutEffectRule {
  readonly kinds = ['Decorator']
  readonly found: Diagnostic[] = []

  node(node: AnyNode, item: Declaration): void {
    if (node.kind !== 'Decorator') return
    const { name } = node as Decorator
    const isOfFunction = OF_FUNCTIONS.has(name.text)
    if (!NEVER.has(name.text) && (!isOfFunction || isMark(node as Decorator, item))) return
    const message = isOfFunction
      ? `\`@${name.text}\` has an effect only before a function`
      : `\`@${name.text}\` has no effect`
    this.found.push(diagnostic('lint.decorator_without_effect', message, node, { suggestions: ['remove it'] }))
  }
}

function isMark(decorator: Decorator, item: Declaration): boolean {
  return item.kind === 'Function' && item.decorators.includes(decorator)
}
