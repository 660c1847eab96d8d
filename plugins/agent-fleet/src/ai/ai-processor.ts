import {
  type Attestation,
  type ChatMessage,
  type InferenceClient,
  type InferenceEndpoint,
  type McpToolset,
  type Orchestrator,
  type SessionContext,
  type TaskPhase,
  type TaskProcessor,
  type TaskView,
  type TaskWork,
  taskLabel,
  textModelNames
} from '@svc/contracts'
import { isSvcError, LinkedSignal, type Logger } from '@svc/plugin-sdk'
import { delay } from '../abortable.ts'
import { fleetErrors } from '../errors.ts'
import type { Settings } from '../settings.ts'
import { AgentTools } from './agent-tools.ts'
import { buildBrief } from './brief.ts'
import { chooseModel } from './model-choice.ts'
import { DECIDE, PHASES, type PhasePlan } from './phases.ts'
import { TaskModel } from './task-model.ts'
import { attestationOf, readVerdict, type Verdict, verdictSchema } from './verdict.ts'

/** Maximum characters of earlier findings in a later phase. */
const NOTE_CHARACTERS = 4_000
const OBSERVED_CHARACTERS = 300
const MIN_WAIT_MS = 250
const MAX_WAIT_MS = 10_000

export interface AiParts {
  readonly orchestrator: Orchestrator
  readonly settings: () => Settings
  readonly log: Logger
  /** The client throws without a provider; the other services are undefined. */
  readonly client: () => InferenceClient
  readonly toolset: () => McpToolset | undefined
  readonly sessions: () => SessionContext | undefined
}

interface Note {
  readonly phase: TaskPhase
  readonly text: string
}

interface RunContext {
  readonly task: TaskView
  readonly work: TaskWork
  readonly model: TaskModel
  readonly agentTools: AgentTools | null
  readonly brief: string
  readonly notes: readonly Note[]
}

/** Lets a model work on a task phase by phase, and returns its result as an attestation. */
export class AiProcessor implements TaskProcessor {
  readonly name = 'ai'
  readonly rank = 0
  readonly #parts: AiParts
  readonly #always: boolean

  /** With `always`, tasks without a chosen model are accepted too; the server then chooses. */
  constructor(parts: AiParts, always: boolean) {
    this.#parts = parts
    this.#always = always
  }

  takes(task: TaskView): boolean {
    if (this.#always || task.model_override !== undefined || task.model_preference !== undefined) return true
    const { orchestrator, settings, client } = this.#parts
    if (settings().model !== undefined || orchestrator.policy.inference_base_url !== null) return true
    try {
      return client().target().model !== null
    } catch {
      // There is no client, or its address is invalid.
      return false
    }
  }

  async run(task: TaskView, work: TaskWork): Promise<Attestation | null> {
    const { orchestrator, settings, toolset, sessions } = this.#parts
    const model = await this.#openModel(task, work)
    const tools = toolset()
    const agentTools = tools === undefined ? null : new AgentTools(tools, orchestrator, task)
    const brief = await buildBrief(task, orchestrator, { sessions: sessions(), tokens: settings().context_tokens })
    const notes: Note[] = []
    const context: RunContext = { task, work, model, agentTools, brief, notes }
    for (const plan of PHASES) {
      work.phase(plan.phase)
      const text = await this.#timed(plan, task, work.signal, signal => this.#work(plan, context, signal))
      notes.push({ phase: plan.phase, text })
      work.observe(`${plan.phase}: ${clip(text.trim(), OBSERVED_CHARACTERS)}`)
    }
    work.phase(DECIDE.phase)
    return this.#end(context, await this.#timed(DECIDE, task, work.signal, signal => this.#decide(context, signal)))
  }

  async #openModel(task: TaskView, work: TaskWork): Promise<TaskModel> {
    const { orchestrator, settings, log } = this.#parts
    const { policy } = orchestrator
    const url = policy.inference_base_url
    const defaultClient = this.#parts.client()
    const client = url === null ? defaultClient : defaultClient.at(url, 'orchestrator.inference_base_url')
    const endpoint = await this.#endpoint(client, task, work.signal)
    const economical = policy.cost_preference === 'economy' && settings().prices.length > 0
    const offered = economical ? textModelNames(await client.models(work.signal)) : []
    const model = chooseModel(task, { settings: settings(), policy, offered, defaultModel: client.model })
    return new TaskModel({ client, endpoint, model, orchestrator, settings: settings(), log }, task, work)
  }

  /** Returns the endpoint of the server; waits for a server that is unreachable, for example still starting. */
  async #endpoint(client: InferenceClient, { id }: TaskView, signal: AbortSignal): Promise<InferenceEndpoint> {
    const { settings, log } = this.#parts
    const until = performance.now() + settings().server_wait_ms
    for (let wait = MIN_WAIT_MS; ; wait = Math.min(2 * wait, MAX_WAIT_MS)) {
      try {
        return await client.endpoint(signal)
      } catch (error) {
        const retry = isSvcError(error) && error.code === 'ICL_UNREACHABLE' && performance.now() + wait < until
        if (!retry) throw error
        if (wait === MIN_WAIT_MS) log.warn('a task waits for a model server', { task: taskLabel(id), error })
        await delay(wait, signal)
      }
    }
  }

  async #timed<A>(
    { phase }: PhasePlan,
    { id }: TaskView,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<A>
  ): Promise<A> {
    const { phase_timeout_ms } = this.#parts.settings()
    const timeoutError = () =>
      fleetErrors.create(
        'FLT_TIMEOUT',
        `${taskLabel(id)}: the phase ${phase} took longer than ${phase_timeout_ms} ms`,
        {
          hint: 'raise plugins.agent-fleet.phase_timeout_ms, or choose a faster model'
        }
      )
    const linked = new LinkedSignal().with(signal).after(phase_timeout_ms, timeoutError)
    try {
      return await work(linked.signal)
    } finally {
      linked.close()
    }
  }

  /** Runs one phase with its tool calls, and returns the model's final text. */
  async #work(plan: PhasePlan, context: RunContext, signal: AbortSignal): Promise<string> {
    const { model, agentTools } = context
    const { tool_rounds, offered_tools } = this.#parts.settings()
    const messages = opening(plan, context)
    const kind = plan.tools === 'write' ? 'write' : 'read'
    for (let round = 0; ; round += 1) {
      const mayCall = plan.tools !== 'none' && round < tool_rounds && model.supportsTools
      const tools = mayCall ? (agentTools?.offer(kind, offered_tools) ?? []) : []
      const { text, calls } = await model.ask({ messages, ...(tools.length === 0 ? {} : { tools }) }, signal)
      if (calls.length === 0 || tools.length === 0 || agentTools === null) return text
      messages.push({ role: 'assistant', content: text, toolCalls: calls })
      for (const call of calls) {
        const content = await agentTools.call(call, tools, kind, signal)
        messages.push({ role: 'tool', content, toolCallId: call.id, name: call.name })
      }
    }
  }

  /** Returns the model's decision; requests an invalid one once more. */
  async #decide(context: RunContext, signal: AbortSignal): Promise<Verdict> {
    const messages = opening(DECIDE, context)
    const first = await context.model.ask({ messages, format: verdictSchema }, signal)
    const verdict = readVerdict(first.text)
    if (!('problem' in verdict)) return verdict
    const again = `That is not the requested JSON object: ${verdict.problem}. Reply with only the object.`
    messages.push({ role: 'assistant', content: first.text }, { role: 'user', content: again })
    const second = readVerdict((await context.model.ask({ messages, format: verdictSchema }, signal)).text)
    if (!('problem' in second)) return second
    throw fleetErrors.create(
      'FLT_VERDICT_INVALID',
      `${taskLabel(context.task.id)}: the model’s decision is invalid, even after a second request: ${second.problem}`,
      { hint: 'choose a larger model: set model in [plugins.agent-fleet]' }
    )
  }

  async #end({ task, work, notes }: RunContext, verdict: Verdict): Promise<Attestation | null> {
    const { summary, outcome } = verdict
    const reason = verdict.reason === '' ? summary : verdict.reason
    work.turn(summary)
    if (outcome === 'fail')
      throw fleetErrors.create('FLT_GAVE_UP', `the model gave up: ${reason}`, {
        hint: 'describe the task in more detail, allow the missing tools, or choose another model'
      })
    if (outcome === 'doubt') {
      await this.#parts.orchestrator.doubt(task.id, reason)
      return null
    }
    return attestationOf(verdict, observation(task, notes))
  }
}

/** Returns the shortened findings; for a researcher as JSON. */
function observation({ role }: TaskView, notes: readonly Note[]): string {
  const findingsOf = (phase: TaskPhase) => notes.find(note => note.phase === phase)?.text ?? ''
  if (role !== 'researcher') return clip(findingsOf('verify'), OBSERVED_CHARACTERS)
  return JSON.stringify({
    findings: clip(findingsOf('act'), NOTE_CHARACTERS),
    verified: clip(findingsOf('verify'), NOTE_CHARACTERS)
  })
}

function opening({ instruction }: PhasePlan, { brief, notes }: RunContext): ChatMessage[] {
  const found = notes.map(({ phase, text }) => `## ${phase}\n${clip(text, NOTE_CHARACTERS)}`)
  const content = [...found, instruction].join('\n\n')
  return [
    { role: 'system', content: brief },
    { role: 'user', content }
  ]
}

function clip(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : `${text.slice(0, maxLength)} […]`
}
