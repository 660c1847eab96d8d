import { type Diagnostic, type DiagnosticDetails, diagnostic, spellingFix } from '../diagnostics/diagnostic.ts'
import type { Decorator, DecoratorArgument, Module } from '../syntax/ast.ts'
import { nearName } from '../syntax/near-name.ts'

/** Stages of a prompt: the research steps for which models are selected. */
const STAGES: readonly string[] = [
  'Planner',
  'ClaimExtraction',
  'Verification',
  'Synthesis',
  'Judge',
  'SelfVerification'
]

/** Maximum depth of subagents that call each other. */
const MAX_CALL_DEPTH = 4

/** Checks `@prompt` and `@subagent`. `mesh` is true if a mesh is enabled. */
export function checkPrompts({ items }: Module, mesh: boolean): Diagnostic[] {
  return items.flatMap(item => {
    if (item.kind !== 'Function') return []
    return item.decorators.flatMap(decorator => {
      if (decorator.name.text === 'prompt') return checkPrompt(decorator)
      return decorator.name.text === 'subagent' ? checkSubagent(decorator, mesh) : []
    })
  })
}

function checkPrompt(decorator: Decorator): Diagnostic[] {
  const stage = argument(decorator, 'stage')
  const name = stage === undefined ? null : wordOf(stage)
  if (stage === undefined || (name !== null && STAGES.includes(name))) return []
  const near = name === null ? undefined : nearName(name, STAGES)
  const details: DiagnosticDetails = {
    suggestions: [`the stages are ${STAGES.map(each => `\`${each}\``).join(', ')}`],
    ...spellingFix(near, stage.value)
  }
  const message = name === null ? 'the stage must be a name' : `there is no stage \`${name}\``
  return [diagnostic('vox/prompt/invalid-stage', message, stage.value, details)]
}

function checkSubagent(decorator: Decorator, mesh: boolean): Diagnostic[] {
  const found: Diagnostic[] = []
  const depth = argument(decorator, 'max_depth')
  if (depth !== undefined && numberOf(depth) > MAX_CALL_DEPTH) {
    const maxDepth = String(MAX_CALL_DEPTH)
    const message = `\`max_depth\` is more than ${maxDepth}, the maximum call depth of subagents`
    const fixes = [{ label: `write ${maxDepth}`, span: depth.value, replacement: maxDepth }]
    found.push(diagnostic('vox/subagent/chain-depth-exceeded', message, depth.value, { fixes }))
  }
  const budget = argument(decorator, 'budget_usd')
  if (budget !== undefined && numberOf(budget) <= 0) {
    const suggestions = ['set `budget_usd` to more than 0, or omit it']
    const message = 'a subagent with a budget of 0 or less cannot call a model'
    found.push(diagnostic('vox/subagent/budget-exhausted-inline', message, budget.value, { suggestions }))
  }
  const policy = argument(decorator, 'policy')
  if (!mesh && policy !== undefined && wordOf(policy) === 'distributed') {
    const suggestions = ['enable the mesh, or write another `policy`']
    const message = 'this policy requires a mesh, but no mesh is enabled'
    found.push(diagnostic('vox/subagent/distributed-not-wired', message, policy.value, { suggestions }))
  }
  return found
}

function argument({ args }: Decorator, name: string): DecoratorArgument | undefined {
  return args?.find(each => each.name?.text === name)
}

/** Returns the word of `Planner` or `"Planner"`; null for other values. */
function wordOf({ value }: DecoratorArgument): string | null {
  if (value.kind === 'Identifier') return value.name
  return value.kind === 'String' ? value.value : null
}

/** Returns the value of a number literal; NaN for other expressions. */
function numberOf({ value }: DecoratorArgument): number {
  if (value.kind === 'Unary' && value.operator === '-') return -digitsOf(value.operand)
  return digitsOf(value)
}

function digitsOf(value: DecoratorArgument['value']): number {
  return value.kind === 'Int' || value.kind === 'Float' || value.kind === 'Decimal' ? Number(value.digits) : Number.NaN
}
