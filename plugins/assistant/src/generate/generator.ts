import {
  agentLabel,
  type CompileResult,
  type InferenceClient,
  type JourneyEnvelope,
  type LanguageCompiler,
  newJourney,
  type Orchestrator,
  orchestrationErrors,
  readListedFile,
  type Transcripts
} from '@svc/contracts'
import { type Call, type EventOf, type Infer, type InputOf, isSvcError, type OutputOf } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'
import { originOf } from '../journey-origin.ts'
import type { Accounts } from '../model/accounts.ts'
import type { ModelAnswer } from '../model/ask.ts'
import { contextLength } from '../model/room.ts'
import type { Oplog } from '../oplog/oplog.ts'
import { sourceTarget, writeSource } from '../project/write-source.ts'
import type { Settings } from '../settings.ts'
import { codeOf, fenced } from './code-of.ts'
import { GrammarConstrainedModel } from './grammar-constrained-model.ts'
import type { fileOutcomes, generateCode } from './operation.ts'
import { RepairPrompt } from './repair-prompt.ts'

type Input = InputOf<typeof generateCode>
type Output = OutputOf<typeof generateCode>
type Event = EventOf<typeof generateCode>
type FileOutcomes = Infer<typeof fileOutcomes>

const SURFACE = 'svc_generate_code'
/** Maximum bytes of a replaced file that are hashed. */
const MAX_OLD_BYTES = 4_194_304

export interface GeneratorParts {
  readonly projectRoot: string
  readonly settings: () => Settings
  readonly orchestrator: () => Orchestrator
  readonly client: () => InferenceClient
  readonly transcripts: () => Transcripts
  readonly compiler: () => LanguageCompiler | undefined
  readonly accounts: Accounts
  readonly oplog: Oplog
}

interface Draft {
  readonly code: string
  /** Null if not validated. */
  readonly result: CompileResult | null
  readonly attempts: number
  readonly tokens: number
  readonly model: string
}

/** Generates programs with the configured model and validates them with the compiler. */
export class Generator {
  readonly #parts: GeneratorParts

  constructor(parts: GeneratorParts) {
    this.#parts = parts
  }

  /**
   * Requests a program from the model. If it does not compile, sends the diagnostics to the model and asks again, at
   * most `max_retries` times. A file is written only with a program that compiles, or that needs no validation. Throws
   * `ASI_CODE_INVALID` with the last program and its diagnostics, `ASI_PATH_REFUSED`, `ASI_FILE_REFUSED`,
   * `ASI_COMPILER_MISSING`, `ORC_AGENT_NOT_FOUND` and the errors of the model client. The path and the agent are checked
   * before any request to the model, locks afterwards.
   */
  async generate(
    input: Input,
    call: Pick<Call<never, Event>, 'signal' | 'surface' | 'emit' | 'progress'>
  ): Promise<Output> {
    const { projectRoot, settings, client } = this.#parts
    this.#requireAgent(input.vcs_agent_id)
    if (input.output_path !== undefined) await sourceTarget(projectRoot, input.output_path)
    const journey = this.#journey(input, call.surface)
    const model = new GrammarConstrainedModel(client(), settings().grammar_mask)
    const draft = await this.#draft(input, journey, model, call)
    await this.#store(input, journey, draft)
    const { code, result, attempts, tokens } = draft
    if (result?.ok === false) throw invalid(draft, result)
    const written = input.output_path === undefined ? null : await this.#write(input, input.output_path, draft)
    return {
      code: input.output_surface_mode === 'fenced_transport' ? fenced(code) : code,
      output_surface_mode: input.output_surface_mode,
      valid: result === null ? null : true,
      warnings: result?.ok === true ? result.warnings : '',
      attempts,
      model_used: draft.model,
      tokens,
      session_id: input.session_id,
      journey_id: journey.journey_id,
      meta: {
        grammar_mask: { ...model.report },
        vcs_agent_id: input.vcs_agent_id ?? null,
        ...(written === null ? {} : { file_outcomes: written })
      }
    }
  }

  #journey({ journey_id, session_id }: Input, surface: string): JourneyEnvelope {
    const repository_id = this.#parts.orchestrator().repositoryId
    return newJourney({ journey_id, session_id, repository_id, origin_surface: originOf(surface) })
  }

  async #draft(
    input: Input,
    journey: JourneyEnvelope,
    model: GrammarConstrainedModel,
    call: Pick<Call<never, Event>, 'signal' | 'emit' | 'progress'>
  ): Promise<Draft> {
    const compiler = input.validate ? this.#compiler() : null
    const maxAttempts = compiler === null ? 1 : 1 + input.max_retries
    const context = await contextLength(this.#parts.client(), call.signal)
    const prompt = new RepairPrompt(input.prompt, context)
    let draft: Draft | null = null
    let tokens = 0
    for (let attempt = 1; ; attempt++) {
      call.progress(attempt - 1, maxAttempts, `attempt ${attempt} of ${maxAttempts}`)
      call.emit({ type: 'attempt', attempt, of: maxAttempts })
      const answer = await this.#ask(model, prompt, draft, call)
      // If the context has no room for a repair, this draft is the last one.
      if (answer === null) return draft as Draft
      await this.#parts.accounts.charge(SURFACE, journey, answer)
      tokens += answer.promptTokens + answer.completionTokens
      const code = codeOf(answer.text)
      const path = input.output_path ?? 'generated.vox'
      const result = compiler === null ? null : await compiler.compile({ path, text: code }, { script: false })
      call.signal.throwIfAborted()
      draft = { code, result, attempts: attempt, tokens, model: answer.model }
      if (result === null || result.ok || attempt === maxAttempts) return draft
      call.emit({ type: 'diagnostics', attempt, report: result.report })
    }
  }

  /**
   * Sends a prompt; if the server rejects it, for example because of its length, sends its brief form. Returns null if
   * the brief form of a repair is rejected, too.
   */
  async #ask(
    model: GrammarConstrainedModel,
    prompt: RepairPrompt,
    draft: Draft | null,
    call: Pick<Call<never, Event>, 'signal' | 'emit'>
  ): Promise<ModelAnswer | null> {
    const rejected = draft?.result?.ok === false ? { code: draft.code, report: draft.result.report } : null
    const onText = (text: string) => call.emit({ type: 'text', text })
    for (;;) {
      try {
        return await model.ask(prompt.messages(rejected), call.signal, onText)
      } catch (error) {
        if (!isSvcError(error, 'ICL_REFUSED')) throw error
        if (!prompt.shorten()) {
          if (draft === null) throw error
          return null
        }
      }
    }
  }

  #compiler(): LanguageCompiler {
    const compiler = this.#parts.compiler()
    if (compiler !== undefined) return compiler
    throw assistantErrors.create(
      'ASI_COMPILER_MISSING',
      'the program cannot be checked: no plugin provides the compiler',
      {
        hint: 'enable the plugin compiler, or call with validate false'
      }
    )
  }

  async #store({ prompt, session_id }: Input, journey: JourneyEnvelope, draft: Draft): Promise<void> {
    const transcripts = this.#parts.transcripts()
    const { code, tokens, model, attempts, result } = draft
    await transcripts.append({ session_id, role: 'user', content: prompt, journey })
    await transcripts.append({
      session_id,
      role: 'assistant',
      content: fenced(code),
      model_used: model,
      tokens,
      journey
    })
    const reason = { rule: 'configured_model', attempts, valid: result?.ok ?? null }
    await transcripts.routed({ journey_id: journey.journey_id, session_id, surface: SURFACE, model_id: model, reason })
  }

  #requireAgent(agent: number | undefined): void {
    if (agent === undefined || this.#parts.orchestrator().agent(agent) !== null) return
    throw orchestrationErrors.create('ORC_AGENT_NOT_FOUND', `Agent ${agentLabel(agent)} not found`, {
      hint: 'vcs_agent_id is the id of an agent; svc orch agents list shows the agents'
    })
  }

  /**
   * Writes the file, unless an agent has locked it. The file then belongs to the requesting agent, unless it already
   * has an owner.
   */
  async #write(
    { vcs_agent_id: agent, prompt: request }: Input,
    output: string,
    { code, model }: Draft
  ): Promise<FileOutcomes> {
    const { projectRoot } = this.#parts
    const orchestrator = this.#parts.orchestrator()
    const { path } = await sourceTarget(projectRoot, output)
    const lock = orchestrator.locks(path).find(each => each.holders.some(holder => holder !== agent))
    if (lock !== undefined) {
      const holders = lock.holders.map(agentLabel).join(', ')
      throw assistantErrors.create('ASI_PATH_REFUSED', `${path} is not written: it is locked by ${holders}`, {
        hint: 'wait until the lock is released, or name another output_path'
      })
    }
    const before = await readListedFile(projectRoot, path, MAX_OLD_BYTES)
    const bytes_written = await writeSource(projectRoot, output, code)
    await this.#parts.oplog.record({ kind: 'file_write', agent, path, request, before, after: code, model })
    if (agent !== undefined && orchestrator.fileOwner(path) === null) await orchestrator.claimFile(agent, path)
    return {
      schema: 'svc_generate_code_file_outcomes_v1',
      schema_version: 1,
      written_paths: [path],
      bytes_written,
      artifact_kind: 'svc_generated'
    }
  }
}

function invalid({ code, attempts, model }: Draft, { report, diagnostics }: Extract<CompileResult, { ok: false }>) {
  const lines = report.split('\n')
  const first = lines.find(line => line.startsWith('error')) ?? lines[0] ?? ''
  return assistantErrors.create(
    'ASI_CODE_INVALID',
    `the program of ${model} does not compile after ${attempts} ${attempts === 1 ? 'attempt' : 'attempts'}: ${first}`,
    {
      data: { attempts, model_used: model, code, diagnostics: [...diagnostics], report },
      hint: 'describe the program more exactly, raise max_retries, or call with validate false'
    }
  )
}
