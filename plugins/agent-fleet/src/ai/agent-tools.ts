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
import { LinkedSignal, raceAbort } from '@svc/plugin-sdk'
import { fleetErrors } from '../errors.ts'

/** Maximum characters of a tool result in a prompt. */
const MAX_CHARACTERS = 8_000
const MAX_DESCRIPTION = 400
/** Plugins whose writing tools control the orchestrator; they are for clients that submit tasks, not for agents. */
const CONTROL_PLUGINS = new Set(['orchestrator-tools', 'planning', 'questioning', 'cli'])

/** Returns the action labels that the task's policy allows; only `read` without a valid policy. */
export function allowedActions(task: TaskView): ReadonlySet<string> {
  try {
    const policy: unknown = JSON.parse(task.execution_policy_json ?? '{}')
    const labels = (policy as { allowed_action_labels?: unknown } | null)?.allowed_action_labels
    if (Array.isArray(labels)) return new Set(labels.filter(label => typeof label === 'string'))
  } catch {
    // An invalid policy counts as a missing one.
  }
  return new Set(['read'])
}

/** Offers tools to the agent of one task, and calls them for it. */
export class AgentTools {
  readonly #toolset: McpToolset
  readonly #orchestrator: Orchestrator
  readonly #task: TaskView
  readonly #actions: ReadonlySet<string>
  readonly #words: ReadonlySet<string>
  readonly #hints: ReadonlySet<string>
  /** True after a suspected loop of tool calls; then no tools are offered. */
  #loopSuspected = false

  constructor(toolset: McpToolset, orchestrator: Orchestrator, task: TaskView) {
    this.#toolset = toolset
    this.#orchestrator = orchestrator
    this.#task = task
    this.#actions = allowedActions(task)
    this.#words = wordsOf(task.description)
    this.#hints = new Set((task.tool_hints ?? []).map(hint => toolset.canonical(hint) ?? hint))
  }

  /**
   * Returns at most `max` tools: first those in the task's hints, then those that best match its description. None if the
   * policy does not allow `read`, or after a suspected loop.
   */
  offer(kind: 'read' | 'write', max: number): readonly ChatTool[] {
    if (this.#loopSuspected || max === 0 || !this.#actions.has('read')) return []
    return this.#toolset
      .tools(this.#principal(kind))
      .filter(({ readOnly, plugin }) => readOnly || !CONTROL_PLUGINS.has(plugin))
      .map(tool => ({ tool, fit: this.#fitOf(tool) }))
      .sort((a, b) => b.fit - a.fit)
      .slice(0, max)
      .map(({ tool: { name, description, inputSchema } }) => ({
        name,
        description: description.slice(0, MAX_DESCRIPTION),
        parameters: inputSchema
      }))
  }

  /** Executes a tool call and returns the text for the model. Throws `FLT_HALTED` and the reason of `signal`. */
  async call(
    { name, arguments: args }: ChatToolCall,
    offered: readonly ChatTool[],
    kind: 'read' | 'write',
    signal: AbortSignal
  ): Promise<string> {
    if (!offered.some(tool => tool.name === name))
      return `There is no tool ${name}. Available tools: ${offered.map(tool => tool.name).join(', ')}.`
    const { agent_id } = this.#task
    const { milliseconds } = await this.#orchestrator.executionTimes.budgetFor(name)
    const principal: McpPrincipal = { ...this.#principal(kind), tools: new Set([name]) }
    const timeout = new Error(`no result within ${milliseconds} ms`)
    const linked = new LinkedSignal().with(signal).after(milliseconds, () => timeout)
    const began = performance.now()
    let [text, outcome]: [string, 'success' | 'error' | 'timeout'] = ['', 'success']
    try {
      const calling = this.#toolset.call(name, args, { principal, signal: linked.signal, ...this.#trace() })
      const result = await raceAbort(linked.signal, calling)
      text = result === null ? `The tool ${name} no longer exists.` : textOf(result)
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
    const budgetSignal = this.#orchestrator.budgets.toolCalled(agent_id, text)
    if (budgetSignal === 'HaltAgent')
      throw fleetErrors.create(
        'FLT_HALTED',
        `${agentLabel(agent_id)} is stopped: ${name} returned the same result repeatedly`,
        {
          hint: 'check the events of the agent, then submit the task with another description or to another agent'
        }
      )
    this.#loopSuspected ||= budgetSignal === 'DoomLoopSuspect'
    return outcome === 'success' ? text : `The tool failed: ${text}`
  }

  /** Returns the trace context that adds a call to the trace of the task. */
  #trace(): { readonly traceparent?: string } {
    const trace = this.#task.trace_id.replaceAll('-', '').toLowerCase()
    if (!/^[0-9a-f]{32}$/.test(trace)) return {}
    return { traceparent: `00-${trace}-${randomBytes(8).toString('hex')}-01` }
  }

  /** Returns the agent as a principal without scopes, which cannot see administrators' tools. */
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
  return `${text.slice(0, MAX_CHARACTERS)}\n[truncated: ${text.length - MAX_CHARACTERS} more characters]`
}
