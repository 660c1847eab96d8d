import { agentLabel, type InferenceClient, newJourney, type Orchestrator, readProjectFile } from '@svc/contracts'
import type { Call, EventOf, InputOf, OutputOf } from '@svc/plugin-sdk'
import { assistantErrors } from '../errors.ts'
import { originOf } from '../journey-origin.ts'
import type { Accounts } from '../model/accounts.ts'
import { askModel } from '../model/ask.ts'
import type { Oplog } from '../oplog/oplog.ts'
import { replaceFile } from '../project/write-source.ts'
import { diffOf, replaced, replacementOf, type Selection, select } from './lines.ts'
import type { inlineEdit } from './operation.ts'

type Input = InputOf<typeof inlineEdit>
type Output = OutputOf<typeof inlineEdit>

const SURFACE = 'svc_inline_edit'
const MAX_BYTES = 262_144
/** Lines that the model sees above and below the selection. */
const CONTEXT_LINES = 40

export interface EditorParts {
  readonly projectRoot: string
  readonly orchestrator: () => Orchestrator
  readonly client: () => InferenceClient
  readonly accounts: Accounts
  readonly oplog: Oplog
}

/** Rewrites lines of files with the configured model. */
export class Editor {
  readonly #parts: EditorParts

  constructor(parts: EditorParts) {
    this.#parts = parts
  }

  /**
   * Returns the diff of an edit; writes the file with `apply`. Throws `ASI_PATH_REFUSED` also for a file that another
   * agent has locked, `ASI_EDIT_RANGE`, `ASI_EDIT_INCOMPLETE` for an answer that was cut off, `ASI_FILE_CHANGED` if
   * someone else changed the file meanwhile, `ASI_FILE_REFUSED`, and the errors of the model client.
   */
  async edit(
    input: Input,
    call: Pick<Call<never, EventOf<typeof inlineEdit>>, 'signal' | 'surface' | 'emit'>
  ): Promise<Output> {
    const { path, text } = await this.#read(input.path)
    if (input.apply) this.#assertUnlocked(path, input.agent_id)
    const selection = select(text, input.start_line, input.end_line)
    if (selection === null)
      throw assistantErrors.create(
        'ASI_EDIT_RANGE',
        `${path}: lines ${input.start_line ?? 1} to ${input.end_line ?? 'the end'} are not in the file`,
        { data: { lines: text.split('\n').length }, hint: 'read the file again; lines are counted from 1' }
      )
    const answer = await askModel(
      this.#parts.client(),
      { messages: messages(path, input.instruction, selection), signal: call.signal },
      piece => call.emit({ type: 'text', text: piece })
    )
    const { session_id } = input
    const repository_id = this.#parts.orchestrator().repositoryId
    const journey = newJourney({ session_id, repository_id, origin_surface: originOf(call.surface) })
    await this.#parts.accounts.charge(SURFACE, journey, answer)
    if (answer.finishReason === 'length')
      throw assistantErrors.create('ASI_EDIT_INCOMPLETE', `${path}: the answer of ${answer.model} was cut off`, {
        hint: 'select fewer lines, or raise the setting max_tokens of the model client'
      })
    const replacement = replacementOf(answer.text)
    const now = replaced(selection, replacement)
    if (input.apply) {
      await this.#write(path, { old: text, now }, input.agent_id)
      const { agent_id: agent, instruction: request } = input
      const change = { path, request, before: text, after: now, model: answer.model }
      await this.#parts.oplog.record({ kind: 'file_edit', agent, ...change })
    }
    return {
      path,
      start_line: selection.start,
      end_line: selection.end,
      replacement,
      diff: diffOf(path, text, now),
      applied: input.apply,
      model_used: answer.model,
      tokens: answer.promptTokens + answer.completionTokens
    }
  }

  async #read(path: string): Promise<{ readonly path: string; readonly text: string }> {
    const read = await readProjectFile(this.#parts.projectRoot, path, MAX_BYTES)
    const reason =
      'refused' in read ? read.refused : read.truncated ? `the file has more than ${MAX_BYTES} bytes` : null
    if (!('refused' in read) && reason === null) return read
    throw refused(path, reason ?? '')
  }

  async #write(path: string, { old, now }: { old: string; now: string }, agent: number | undefined): Promise<void> {
    // The model may have taken minutes.
    this.#assertUnlocked(path, agent)
    const { text } = await this.#read(path)
    if (text !== old)
      throw assistantErrors.create(
        'ASI_FILE_CHANGED',
        `${path} was changed while the model worked; nothing is written`,
        {
          hint: 'call it again'
        }
      )
    await replaceFile(this.#parts.projectRoot, path, now)
  }

  #assertUnlocked(path: string, agent: number | undefined): void {
    const lock = this.#parts
      .orchestrator()
      .locks(path)
      .find(each => each.holders.some(holder => holder !== agent))
    if (lock !== undefined) throw refused(path, `it is locked by ${lock.holders.map(agentLabel).join(', ')}`)
  }
}

function refused(path: string, reason: string): Error {
  return assistantErrors.create('ASI_PATH_REFUSED', `${JSON.stringify(path)} is not edited: ${reason}`, {
    hint: 'name a text file of the project that no other agent has locked'
  })
}

const SYSTEM = `You edit a file. You get a path, an instruction, and the file's lines around a selection.
Answer with the new text of the selected lines in one fenced code block, and with nothing else.
Keep the indentation and the style. Do not repeat lines outside of the selection.`

function messages(path: string, instruction: string, { before, selected, after }: Selection) {
  const above = before
    .split('\n')
    .slice(-CONTEXT_LINES - 1)
    .join('\n')
  const below = after.split('\n').slice(0, CONTEXT_LINES).join('\n')
  const content = [
    `Path: ${path}`,
    `Instruction: ${instruction}`,
    `Lines above the selection:\n${above}`,
    `Selected lines:\n${selected}`,
    `Lines below the selection:\n${below}`
  ].join('\n\n')
  return [
    { role: 'system' as const, content: SYSTEM },
    { role: 'user' as const, content }
  ]
}
