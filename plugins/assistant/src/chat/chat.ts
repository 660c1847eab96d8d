import {
  type InferenceClient,
  type JourneyEnvelope,
  newJourney,
  type Orchestrator,
  type Questioning,
  type SearchService,
  type SessionContext,
  type TranscriptEntry,
  type Transcripts
} from '@svc/contracts'
import type { Call, InputOf, Logger, OutputOf } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'
import { originOf } from '../journey-origin.ts'
import type { Accounts } from '../model/accounts.ts'
import { askModel, type ModelAnswer } from '../model/ask.ts'
import { bytesWithin, contextLength } from '../model/room.ts'
import type { Settings } from '../settings.ts'
import { type EditorContext, editorContext } from './editor-context.ts'
import { chatEvidence, citationsOf } from './evidence.ts'
import { type Material, type Quoted, quote } from './material.ts'
import type { chat } from './operation.ts'
import { chatMessages } from './prompt.ts'
import { chatQuality } from './quality.ts'
import { NOTHING_SEARCHED, type Retrieved, retrieve } from './retrieved.ts'

type Input = InputOf<typeof chat>
type Output = OutputOf<typeof chat>

const SURFACE = 'svc_chat_message'
const HISTORY = 100
const SESSION_TOKENS = 1_024
/** Maximum characters of earlier turns in a prompt. */
const HISTORY_CHARACTERS = 24_000
const COMPLEXITY = { fast: 5, reasoning: 9, creative: 7 } as const
const TEMPERATURE = { fast: 0.3, reasoning: 0.3, creative: 0.8 } as const

export interface ChatParts {
  readonly projectRoot: string
  readonly settings: () => Settings
  readonly orchestrator: () => Orchestrator
  readonly client: () => InferenceClient
  readonly transcripts: () => Transcripts
  readonly sessionContext: () => SessionContext | undefined
  readonly questioning: () => Questioning | undefined
  readonly search: () => SearchService | undefined
  readonly accounts: Accounts
  readonly log: Logger
}

/** Chat about the project with the configured model. */
export class Chat {
  readonly #parts: ChatParts

  constructor(parts: ChatParts) {
    this.#parts = parts
  }

  /**
   * Answers one message. If there is no answer (the caller disconnected, or the model failed), nothing is stored in the
   * session. Throws `ASI_PROMPT_MISSING`, and the errors of the model client.
   */
  async answer(input: Input, call: Pick<Call, 'signal' | 'surface' | 'emit' | 'log'>): Promise<Output> {
    const prompt = promptOf(input)
    const { orchestrator, transcripts, settings } = this.#parts
    const { session_id } = input
    const journey = newJourney({
      journey_id: input.journey_id,
      session_id,
      repository_id: orchestrator().repositoryId,
      origin_surface: originOf(call.surface),
      thread_id: input.thread_id,
      trace_id: input.trace_id,
      correlation_id: input.correlation_id,
      cognitive_profile: input.cognitive_profile
    })
    const [editor, retrieved, earlier] = await Promise.all([
      editorContext(this.#parts.projectRoot, input, settings().context_bytes),
      this.#retrieve(prompt, input, call.signal),
      transcripts().history(session_id, settings().history_turns)
    ])
    const context = await contextLength(this.#parts.client(), call.signal)
    const room = bytesWithin(context, 1 / 4, settings().context_bytes)
    const quoted = quote(await this.#material(session_id, editor, retrieved), room)
    if (quoted.dropped > 0)
      orchestrator().emit({
        type: 'context_truncated',
        session_id,
        section: 'material',
        chars_dropped: quoted.dropped
      })
    const answer = await this.#ask(input, prompt, earlier, quoted, context, call)
    await this.#parts.accounts.charge(SURFACE, journey, answer)
    const history = await this.#store(input, prompt, journey, answer, editor)
    return {
      message: answer.text,
      history: history.map(entry => ({ ...entry, context_files: [...entry.context_files] })),
      model_used: answer.model,
      tokens: answer.promptTokens + answer.completionTokens,
      finish_reason: answer.finishReason,
      session_id,
      journey_id: journey.journey_id,
      retrieval: retrievalView(retrieved, editor, quoted),
      qgate: await this.#evaluate(prompt, session_id, retrieved, editor, answer)
    }
  }

  #retrieve(prompt: string, { selected_text = '' }: Input, signal: AbortSignal): Promise<Retrieved> | Retrieved {
    const { settings, search, log } = this.#parts
    return settings().retrieval ? retrieve(search(), `${prompt}\n${selected_text}`, log, signal) : NOTHING_SEARCHED
  }

  async #material(session: string, editor: EditorContext, retrieved: Retrieved): Promise<Material[]> {
    const shared = (await this.#parts.sessionContext()?.inject(session, SESSION_TOKENS)) ?? ''
    const shown = new Set(editor.files.flatMap(file => ('text' in file ? [file.path] : [])))
    return [
      ...editor.materials,
      ...(shared === '' ? [] : [{ label: 'context of the session', text: shared }]),
      ...retrieved.found
        .filter(({ source, ref }) => source !== 'repository' || !shown.has(ref))
        .map(({ ref, line, text }) => ({ label: line === null ? ref : `${ref}:${line}`, text }))
    ]
  }

  #ask(
    input: Input,
    prompt: string,
    history: readonly TranscriptEntry[],
    { text: material }: Quoted,
    context: number | null,
    call: Pick<Call, 'signal' | 'emit'>
  ): Promise<ModelAnswer> {
    const { cognitive_profile: profile, json_mode: jsonMode, top_p: topP, session_id: session } = input
    const { cost_preference: costPreference, qgate } = this.#parts.orchestrator().policy
    const minReportConfidence = qgate.min_prompt_report_confidence
    const historyCharacters = bytesWithin(context, 1 / 8, HISTORY_CHARACTERS)
    const temperature = input.temperature ?? (profile === undefined ? undefined : TEMPERATURE[profile])
    return askModel(
      this.#parts.client(),
      {
        messages: chatMessages({ prompt, history, material, jsonMode, historyCharacters, minReportConfidence }),
        signal: call.signal,
        purpose: { session, category: 'general', complexity: COMPLEXITY[profile ?? 'fast'], costPreference },
        ...(temperature === undefined ? {} : { temperature }),
        ...(topP === undefined ? {} : { topP }),
        ...(jsonMode ? { format: 'json' as const } : {})
      },
      text => call.emit(text)
    )
  }

  /**
   * Stores question and answer in the session, and the reason for the choice of the model. Returns the session's last
   * turns.
   */
  async #store(
    input: Input,
    prompt: string,
    journey: JourneyEnvelope,
    answer: ModelAnswer,
    editor: EditorContext
  ): Promise<readonly TranscriptEntry[]> {
    const { session_id, cognitive_profile: profile } = input
    const transcripts = this.#parts.transcripts()
    const { policy } = this.#parts.orchestrator()
    const context_files = editor.files.flatMap(file => ('text' in file ? [file.path] : []))
    await transcripts.append({ session_id, role: 'user', content: prompt, context_files, journey })
    await transcripts.append({
      session_id,
      role: 'assistant',
      content: answer.text,
      model_used: answer.model,
      tokens: answer.promptTokens + answer.completionTokens,
      journey
    })
    await transcripts.routed({
      journey_id: journey.journey_id,
      session_id,
      surface: SURFACE,
      model_id: answer.model,
      reason: {
        rule: answer.provider === null ? 'configured_model' : 'provider_choice',
        complexity: COMPLEXITY[profile ?? 'fast'],
        cognitive_profile: profile ?? null,
        cost_preference: policy.cost_preference,
        ...(policy.unified_routing ? { experiment: 'unified_routing' } : {})
      }
    })
    return transcripts.history(session_id, HISTORY)
  }

  async #evaluate(
    prompt: string,
    session: string,
    retrieved: Retrieved,
    editor: EditorContext,
    answer: ModelAnswer
  ): Promise<Output['qgate']> {
    const { attention, policy } = this.#parts.orchestrator()
    const shown = new Set([
      ...editor.files.flatMap(file => ('text' in file ? [file.path] : [])),
      ...retrieved.found.map(({ ref }) => ref)
    ])
    const evidence = chatEvidence({
      prompt,
      retrieved,
      fromCaller: editor.materials.length,
      citations: await citationsOf(answer.text, shown, this.#parts.projectRoot),
      fatigued: attention.enabled && attention.state().fatigued
    })
    const questioning = this.#parts.questioning()
    const quality = await chatQuality(evidence, retrieved, policy.qgate, session, questioning)
    // Model time is charged to the session if the chat ends with a question to the user instead of an answer.
    if (quality.questioning.question_needed) await questioning?.debit(session, Math.round(answer.milliseconds))
    return quality
  }
}

function promptOf({ prompt, message }: Input): string {
  const text = prompt ?? message ?? ''
  if (text.trim() !== '') return text
  throw assistantErrors.create('ASI_PROMPT_MISSING', 'the message is empty: neither prompt nor message contains text', {
    hint: 'pass the text as prompt'
  })
}

function retrievalView(retrieved: Retrieved, editor: EditorContext, quoted: Quoted): Output['retrieval'] {
  const { tier, terms, quality, complete, problem, found } = retrieved
  const shown = new Set(quoted.labels)
  return {
    tier,
    terms: [...terms],
    quality,
    complete,
    problem,
    used: found
      .filter(({ ref, line }) => shown.has(line === null ? ref : `${ref}:${line}`))
      .map(({ source, ref, line, score, matched }) => ({ source, ref, line, score, matched: [...matched] })),
    context_files: editor.files.map(file =>
      'text' in file
        ? { path: file.path, truncated: file.truncated, refused: null }
        : { path: file.path, truncated: false, refused: file.refused }
    ),
    characters_dropped: quoted.dropped
  }
}
