import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { Module } from '../syntax/ast.ts'
import { type AnyNode, childrenOf } from '../syntax/walk.ts'

const LOOPS: ReadonlySet<string> = new Set(['While', 'Loop', 'For'])

/** Reports `break` and `continue` outside a loop. A function body inside a loop is outside it. */
export function checkJumps({ items }: Module): Diagnostic[] {
  const found: Diagnostic[] = []
  for (const item of items) visit(item, false, found)
  return found
}

function visit(node: AnyNode, isInLoop: boolean, found: Diagnostic[]): void {
  const { kind } = node
  if ((kind === 'Break' || kind === 'Continue') && !isInLoop) {
    const word = kind.toLowerCase()
    const suggestions = ['use `return` to leave a function']
    found.push(diagnostic('typecheck.jump_outside_loop', `\`${word}\` is outside a loop`, node, { suggestions }))
  }
  const isInside = kind === 'Lambda' ? false : isInLoop || LOOPS.has(kind)
  for (const child of childrenOf(node)) visit(child, isInside, found)
}
