import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Declaration, Module } from '../syntax/ast.ts'
import type { Call } from '../syntax/ast-expressions.ts'
import { bare } from '../syntax/entries.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'

const DEFERRING: ReadonlySet<string> = new Set(['run_later', 'run_at'])

/** Reports `run_later` and `run_at` without a call of a function of the program, since only that can be stored. */
export function checkDeferredCalls({ items }: Module): Diagnostic[] {
  const declared = new Map<string, Declaration>()
  for (const item of items) if ('name' in item && item.name !== null) declared.set(item.name.text, item)
  const found: Diagnostic[] = []
  for (const item of items) {
    walk(item as AnyNode, node => {
      if (node.kind !== 'Call') return undefined
      const { callee, args } = node as Call
      if (callee.kind !== 'Identifier' || !DEFERRING.has(callee.name) || declared.has(callee.name)) return undefined
      const [, second] = args
      if (second === undefined || args.length > 2) return undefined
      const target = bare(second.value)
      const name = target.kind === 'Call' && target.callee.kind === 'Identifier' ? target.callee.name : null
      const kind = name === null ? undefined : declared.get(name)?.kind
      if (kind === 'Function') return undefined
      const isWorkflow = kind === 'Workflow' || kind === 'Activity'
      found.push(
        diagnostic('typecheck.arg_mismatch', `\`${callee.name}\` takes a call of a function of the program`, target, {
          suggestions: [
            isWorkflow
              ? 'write a function that calls it, or start a workflow `with { detach: true }`'
              : `write \`${callee.name}(…, f(a))\`, where \`f\` is declared in this file`
          ]
        })
      )
      return undefined
    })
  }
  return found
}
