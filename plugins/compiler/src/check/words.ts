import { type Diagnostic, diagnostic } from '../diagnostics/diagnostic.ts'
import type { FunctionDeclaration, Module } from '../syntax/ast.ts'
import type { Attribute, Call, Expression, Identifier } from '../syntax/ast-expressions.ts'
import type { Name, Span } from '../syntax/node.ts'
import { type AnyNode, walk } from '../syntax/walk.ts'
import type { NodeRule } from './node-rule.ts'

/** React spellings of attributes, with the spellings of the language. */
const REACT_ATTRIBUTES: Readonly<Record<string, string>> = {
  className: 'class',
  onClick: 'on_click',
  onChange: 'on_change',
  onSubmit: 'on_submit'
}

const MACROS: ReadonlySet<string> = new Set(['macro', 'macro_rules'])

const IMPURE: ReadonlySet<string> = new Set(['print', 'sleep'])

/** Reports identifiers that are errors everywhere. */
export class WordsRule implements NodeRule {
  readonly kinds = ['Identifier', 'Attribute']
  readonly found: Diagnostic[] = []

  constructor({ items }: Module) {
    for (const item of items) {
      const { name } = item as { readonly name?: Name | null }
      if (name !== undefined && name !== null) this.#macro(name.text, name)
    }
  }

  node(node: AnyNode): void {
    if (node.kind === 'Identifier') this.#macro((node as Identifier).name, node)
    else this.found.push(...reactAttribute(node as Attribute))
  }

  #macro(name: string, at: Span): void {
    if (MACROS.has(name)) this.found.push(diagnostic('E091', `\`${name}\`: the language has no macros`, at))
  }
}

/** Reports calls that are errors in some kinds of functions. */
export function checkCalls({ items }: Module, suppressHookLints: boolean): Diagnostic[] {
  return items.flatMap(item =>
    item.kind === 'Function' ? [...impureCalls(item), ...(suppressHookLints ? [] : hookCalls(item))] : []
  )
}

function reactAttribute({ name }: Attribute): Diagnostic[] {
  if (!Object.hasOwn(REACT_ATTRIBUTES, name.text)) return []
  const replacement = REACT_ATTRIBUTES[name.text] as string
  return [
    diagnostic('W093', `\`${name.text}\` is React's spelling of \`${replacement}\``, name, {
      fixes: [{ label: `write ${replacement}`, span: name, replacement }]
    })
  ]
}

/** Reports impure calls in a pure function itself. Its callees are checked with the effects. */
function impureCalls({ decorators, name, body }: FunctionDeclaration): Diagnostic[] {
  if (body === null || !decorators.some(each => each.name.text === 'pure')) return []
  return calls(body).flatMap(({ node, callee }) => {
    const calledName = node.kind === 'Spawn' ? 'spawn' : callee
    if (node.kind !== 'Spawn' && !IMPURE.has(callee)) return []
    return diagnostic(
      'lint.pure_shallow_violation',
      `\`${name.text}\` is marked as pure and calls \`${calledName}\``,
      node
    )
  })
}

function hookCalls({ role, body }: FunctionDeclaration): Diagnostic[] {
  if (body === null || (role !== 'component' && role !== 'island')) return []
  return calls(body).flatMap(({ node, callee }) => {
    if (!callee.startsWith('use_')) return []
    return diagnostic('lint.component_react_hook', `\`${callee}\` is a React hook`, node, {
      suggestions: ['write a component with `state`, `derived` and `effect`']
    })
  })
}

function calls(body: Expression): { readonly node: AnyNode; readonly callee: string }[] {
  const found: { node: AnyNode; callee: string }[] = []
  walk(body, node => {
    if (node.kind === 'Spawn') found.push({ node, callee: '' })
    if (node.kind === 'Call') {
      const { callee } = node as Call
      if (callee.kind === 'Identifier') found.push({ node, callee: callee.name })
    }
    return true
  })
  return found
}
