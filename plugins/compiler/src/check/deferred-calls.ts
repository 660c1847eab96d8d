import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import type { Call } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import type { AnyNode } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

const DEFERRING: ReadonlySet<string> = new Set(['run_later', 'run_at'])

/** Reports `run_later` and `run_at` without a call of a function of the program, since only that can be stored. */
export class DeferredCallsRule implements NodeRule {
  readonly kinds = ['Call']
  readonly found: Diagnostic[] = []
  readonly #declared = new Map<string, Declaration>()

  constructor({ items }: Module) {
    for (const item of items) if ('name' in item && item.name !== null) this.#declared.set(item.name.text, item)
  }

  node(node: AnyNode): void {
    if (node.kind !== 'Call') return
    const { callee, args } = node as Call
    if (callee.kind !== 'Identifier' || !DEFERRING.has(callee.name) || this.#declared.has(callee.name)) return
    const [, second] = args
    if (second === undefined || args.length > 2) return
    const target = bare(second.value)
    const name = target.kind === 'Call' && target.callee.kind === 'Identifier' ? target.callee.name : null
    const kind = name === null ? undefined : this.#declared.get(name)?.kind
    if (kind === 'Function') return
    const isWorkflow = kind === 'Workflow' || kind === 'Activity'
    this.found.push(
      diagnostic('typecheck.arg_mismatch', `\`${callee.name}\` takes a call of a function of the program`, target, {
        suggestions: [
          isWorkflow
            ? 'write a function that calls it, or start a workflow `with { detach: true }`'
            : `write \`${callee.name}(…, f(a))\`, where \`f\` is declared in this file`
        ]
      })
    )
  }
}
