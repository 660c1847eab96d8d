import type { Diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration } from '../../syntax/ast.ts'
import type { AnyNode } from '../../syntax/walk.ts'
import type { TypedModule } from '../typed-module.ts'
import { DecoratorWithoutEffectRule } from './decorator-without-effect.ts'
import { QuadraticPushRule } from './quadratic-push.ts'
import { TypedValuesRule } from './typed-values.ts'
import { UnreachableRule } from './unreachable.ts'
import { UnusedResultRule } from './unused-result.ts'

interface LintRule {
  readonly kinds: readonly string[] | null
  readonly found: readonly Diagnostic[]
  node(node: AnyNode, item: Declaration): void
}

/** The lints of single nodes, which run in one walk over the module. */
export function lintRules(module: TypedModule): LintRule[] {
  return [
    new DecoratorWithoutEffectRule(),
    new QuadraticPushRule(),
    new TypedValuesRule(module),
    new UnreachableRule(module),
    new UnusedResultRule(module)
  ]
}
