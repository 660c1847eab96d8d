import { randomBytes } from 'node:crypto'
import {
  agentLabel,
  type ChatTool,
  type ChatToolCall,
  type McpPrincipal,
  type McpToolListing,
  type McpToolset,
  type McpToolsetResult,
  type Orchestrator,
  type TaskView
} from '@svc/contracts'
import { raceAbort } from '@svc/plugin-sdk'
import { LinkedSignal } from '../abortable.ts'
import { fleetErrors } from '../errors.ts'

/** Maximum length of a result in a prompt, in characters. */
const MAX_CHARACTERS = 8_000
const MAX_DESCRIPTION = 400
/** Plugins whose writing tools are for clients that submit tasks, not for workers. */
const STEERING = new Set(['orchestrator-tools', 'planning', 'questioning', 'cli'])

/** Permissions of the task's agent from its policy; read-only without one. */
export function allowedActions(task: TaskView): ReadonlySet<string> {
  try {
    const policy: unknown = JSON.parse(task.execution_policy_json ?? '{}')
    const labels = (policy as { allowed_action_labels?: unknown } | null)?.allowed_action_labels
    if (Array.isArray(labels)) return new Set(labels.filter(label => typeof label === 'string'))
  } catch {
    // An unreadable policy allows no more than a missing one.
  }
  return new Set(['read'])
}

/** The tools of one task's agent: the offered ones, and their calls. */
export class ToolDesk {
  readonly #toolset: McpToolset
  readonly #orchestrator: Orchestrator
  readonly #task: TaskView
  readonly #actions: ReadonlySet<string>
  readonly #words: ReadonlySet<string>
  readonly #hints: ReadonlySet<string>
  /** True if the agent exceeds the limit of tool calls. */
  #suspect = false

  constructor(toolset: McpToolset, orchestrator: Orchestrator, task: TaskView) {
    this.#toolset = toolset
    this.#orchestrator = orchestrator
    this.#task = task
    this.#actions = allowedActions(task)
    this.#words = wordsOf(task.description)
    this.#hints = new Set((task.tool_hints ?? []).map(hint => toolset.canonical(hint) ?? hint))
  }

  /** At most `most` tools: first those that the task names, then those that share its words. */
  offer(kind: 'read' | 'write', most: number): readonly ChatTool[] {
    if (this.#suspect || most === 0 || !this.#actions.has('read')) return []
    return this.#toolset
      .tools(this.#principal(kind))
      .filter(({ readOnly, plugin }) => readOnly || !STEERING.has(plugin))
      .map(tool => ({ tool, fit: this.#fitOf(tool) }))
      .sort((a, b) => b.fit - a.fit)
      .slice(0, most)
      .map(({ tool: { name, description, inputSchema } }) => ({
        name,
        description: description.slice(0, MAX_DESCRIPTION),
        parameters: inputSchema
      }))
  }

  /** Answer to the model's tool call. Throws `FLT_HALTED`, and the reason of `signal`. */
  async call(
    { name, arguments: args }: ChatToolCall,
    offered: readonly ChatTool[],
    kind: 'read' | 'write',
    signal: AbortSignal
  ): Promise<string> {
    if (!offered.some(tool => tool.name === name))
      return `There is no tool ${name}. You have: ${offered.map(tool => tool.name).join(', ')}.`
    const { agent_id } = this.#task
    const { milliseconds } = await this.#orchestrator.executionTimes.budgetFor(name)
    const principal: McpPrincipal = { ...this.#principal(kind), tools: new Set([name]) }
    const timeout = new Error(`no answer within ${milliseconds} ms`)
    const linked = new LinkedSignal().with(signal).after(milliseconds, () => timeout)
    const began = performance.now()
    let [text, outcome]: [string, 'success' | 'error' | 'timeout'] = ['', 'success']
    try {
      const calling = this.#toolset.call(name, args, { principal, signal: linked.signal, ...this.#trace() })
      const result = await raceAbort(linked.signal, calling)
      text = result === null ? `There is no tool ${name} any more.` : textOf(result)
      if (result === null || result.isError === true) outcome = 'error'
    } catch (error) {
      signal.throwIfAborted()
      outcome = error === timeout ? 'timeout' : 'error'
      text = error instanceof Error ? error.message : String(error)
    } finally {
      linked.close()
    }
    if (outcome === 'timeout')
      this.#orchestrator.emit({ type: 'tool_timed_out', agent_id, tool_key: name, attempted_budget_ms: milliseconds })
    const duration_ms = Math.round(performance.now() - began)
    await this.#orchestrator.executionTimes.record({
      tool_key: name,
      duration_ms,
      timeout_budget_ms: milliseconds,
      outcome
    })
    const sign = this.#orchestrator.budgets.toolCalled(agent_id, text)
    if (sign === 'HaltAgent')
      throw fleetErrors.create(
        'FLT_HALTED',
        `${agentLabel(agent_id)} is stopped: ${name} returned the same result repeatedly`,
        {
          hint: 'check its events, then submit the task in other words or to another agent'
        }
      )
    this.#suspect ||= sign === 'DoomLoopSuspect'
    return outcome === 'success' ? text : `The tool failed: ${text}`
  }

  /** Calls belong to the trace of their task. */
  #trace(): { readonly traceparent?: string } {
    const trace = this.#task.trace_id.replaceAll('-', '').toLowerCase()
    if (!/^[0-9a-f]{32}$/.test(trace)) return {}
    return { traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01` }
  }

  /** An agent has no scopes, so administrators' tools are hidden from it. */
  #principal(kind: 'read' | 'write'): McpPrincipal {
    const mayWrite = kind === 'write' && this.#actions.has('write')
    return { id: `agent:${agentLabel(this.#task.agent_id)}`, role: mayWrite ? 'agent' : 'read', scopes: [] }
  }

  #fitOf({ name, description }: McpToolListing): number {
    if (this.#hints.has(name)) return Infinity
    let fit = 0
    for (const word of wordsOf(`${name} ${description}`)) if (this.#words.has(word)) fit += 1
    return fit
  }
}

function wordsOf(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().match(/\p{L}{4,}/gu))
}

function textOf({ content }: McpToolsetResult): string {
  const text = content.map(part => (part.type === 'text' ? String(part.text) : `[${String(part.type)}]`)).join('\n')
  if (text.length <= MAX_CHARACTERS) return text
  return `${text.slice(0, MAX_CHARACTERS)}\n[cut here: ${text.length - MAX_CHARACTERS} characters more]`
}
