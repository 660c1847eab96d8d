import { type Diagnostic, diagnostic } from '../../diagnostics/diagnostic.ts'
import type { Declaration, FunctionDeclaration, Module, Param } from '../../syntax/ast.ts'
import type { Expression } from '../../syntax/ast-expressions.ts'
import type { Block } from '../../syntax/ast-statements.ts'
import { NO_ID } from '../../syntax/node.ts'
import { walk } from '../../syntax/walk.ts'
import type { ModuleNames } from '../../types/module-names.ts'
import { BodyFlow, type FlowContext, type OnLeak } from './body-flow.ts'
import { type Flow, NOWHERE, SECRET } from './flow.ts'

/** Decorators of functions whose arguments are sent to a model. */
const READ_BY_MODEL: ReadonlySet<string> = new Set(['ai', 'prompt', 'subagent'])

/** A body with its parameters. */
interface Part {
  readonly params: readonly Param[]
  readonly body: Expression
}

/** Reports secrets and environment variables that are sent to a model. */
export function checkSecretLeakage({ items }: Module, names: ModuleNames): Diagnostic[] {
  const modelBacked = new Set<Declaration>(items.filter(isModelBacked))
  if (modelBacked.size === 0) return []
  const flows = new Map<Declaration, Flow>(items.map(item => [item, { result: NOWHERE, leaked: new Set<number>() }]))
  const context: FlowContext = { names, flows, modelBacked }
  propagate(items, context, flows)
  const found = new Map<Expression, Diagnostic>()
  const report: OnLeak = (value, origins, to) => {
    if (!origins.has(SECRET)) return
    const message = `a secret is sent to the model that implements \`${to}\``
    const suggestions = ['pass only data that the model may see, or use the secret in a separate request']
    found.set(value, diagnostic('vox/prompt/secret-leakage', message, value, { suggestions }))
  }
  for (const item of items) flowOf(item, context, report)
  const script = scriptOf(items)
  if (script !== null) new BodyFlow(context, report).analyse([], script)
  return [...found.values()]
}

/** Computes the summaries of all functions, until a fixed point is reached. */
function propagate(items: readonly Declaration[], context: FlowContext, flows: ReadonlyMap<Declaration, Flow>): void {
  const users = usersOf(items, context.names)
  const open = new Set(items)
  for (const item of open) {
    open.delete(item)
    const flow = flows.get(item) as Flow
    const size = flow.result.size + flow.leaked.size
    flow.result = flowOf(item, context, (_, origins) => {
      for (const origin of origins) if (origin !== SECRET) flow.leaked.add(origin)
    })
    // Iteration over a set also visits elements that are added to it meanwhile.
    if (flow.result.size + flow.leaked.size > size) for (const user of users.get(item) ?? []) open.add(user)
  }
}

/** Returns, for each declaration, the declarations that use it. */
function usersOf(items: readonly Declaration[], names: ModuleNames): ReadonlyMap<Declaration, Set<Declaration>> {
  const users = new Map<Declaration, Set<Declaration>>()
  for (const item of items) {
    walk(item, node => {
      if (node.kind !== 'Identifier') return true
      const named = names.get((node as Extract<Expression, { kind: 'Identifier' }>).name)?.declaration
      if (named === undefined) return true
      const known = users.get(named)
      if (known === undefined) users.set(named, new Set([item]))
      else known.add(item)
      return true
    })
  }
  return users
}

function flowOf(item: Declaration, context: FlowContext, onLeak: OnLeak): Flow['result'] {
  if (item.kind === 'Const') {
    const { statement } = item
    return statement.kind === 'Let' ? new BodyFlow(context, onLeak).origins(statement.value) : NOWHERE
  }
  let result = NOWHERE
  for (const { params, body } of partsOf(item)) result = new BodyFlow(context, onLeak).analyse(params, body)
  return result
}

function partsOf(item: Declaration): readonly Part[] {
  switch (item.kind) {
    case 'Function':
      return item.body === null ? [] : [{ params: item.params, body: item.body }]
    case 'Workflow':
    case 'Activity':
    case 'Fragment':
      return [item]
    case 'HttpRoute':
      return [{ params: item.params ?? [], body: item.body }]
    case 'Actor':
    case 'Agent':
      return item.members.flatMap(member => (member.kind === 'Handler' ? [member] : []))
    default:
      return []
  }
}

/** Returns the top-level statements as one block; they can use each other's variables. */
function scriptOf(items: readonly Declaration[]): Block | null {
  const statements = items.flatMap(item => (item.kind === 'ScriptStatement' ? [item.statement] : []))
  const [first, last] = [statements[0], statements.at(-1)]
  if (first === undefined || last === undefined) return null
  return { kind: 'Block', id: NO_ID, statements, start: first.start, end: last.end }
}

function isModelBacked(item: Declaration): item is FunctionDeclaration {
  return item.kind === 'Function' && item.decorators.some(({ name }) => READ_BY_MODEL.has(name.text))
}
