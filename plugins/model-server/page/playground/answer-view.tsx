import { useComputed, useSignal } from '@preact/signals'
import { checkAnswer } from './answer-check.ts'
import type { Answer, Step, StepFigures, StepStatus, ToolCall, Turn } from './conversation.ts'
import { CopyButton } from './copy.tsx'
import { Markdown } from './markdown.tsx'
import type { Playground } from './playground-state.ts'
import { curlCommand, jsonText } from './request.ts'
import { parseSchema } from './settings.ts'
import { TokenHeat } from './token-heat.tsx'

interface AnswerProps {
  readonly playground: Playground
  readonly turn: Turn
  readonly column: number
  readonly answer: Answer
  /** True for an answer to the last message. */
  readonly isLast: boolean
}

/** Answer of one model to one message, with its steps. */
export function AnswerView({ playground, turn, column, answer, isLast }: AnswerProps) {
  const steps = answer.value
  return (
    <article class="answer" aria-label={`Answer of ${playground.choice(column)?.model ?? 'the model'}`}>
      {steps.map((step, index) => (
        <StepView
          key={index}
          step={step}
          request={() => playground.request(turn, column, index)}
          schemaText={playground.settings.schema.value}
          save={() => playground.save()}
          sendResults={isLast && index === steps.length - 1 ? () => playground.sendResults(turn, column) : undefined}
          regenerate={isLast && index === steps.length - 1 ? () => playground.regenerate(turn, column) : undefined}
        />
      ))}
    </article>
  )
}

interface StepProps {
  readonly step: Step
  readonly request: () => ReturnType<Playground['request']>
  readonly schemaText: string
  readonly save: () => void
  /** Absent if a later step exists. */
  readonly sendResults: (() => void) | undefined
  readonly regenerate: (() => void) | undefined
}

const NOTES: Readonly<Partial<Record<StepStatus, string>>> = {
  length: 'The answer ended at the maximum number of tokens.',
  stopped: 'Stopped.'
}

function StepView({ step, request, schemaText, save, sendResults, regenerate }: StepProps) {
  const editing = useSignal(false)
  const asTokens = useSignal(true)
  const status = step.status.value
  const running = status === 'running'
  const hasTokens = step.tokens.value.length > 0
  const error = step.error.value
  const note = NOTES[status]
  return (
    <div class="step" data-status={status}>
      <Thinking step={step} />
      {editing.value ? (
        <Editor
          label="Edit the answer"
          text={step.content.value}
          action="Save"
          onSave={text => {
            step.edit(text)
            save()
            editing.value = false
            return true
          }}
          onCancel={() => {
            editing.value = false
          }}
        />
      ) : hasTokens && asTokens.value ? (
        <TokenHeat tokens={step.tokens.value} />
      ) : (
        <Content step={step} />
      )}
      {step.calls.value.length === 0 ? null : (
        <Calls step={step} save={save} sendResults={status === 'calls' ? sendResults : undefined} />
      )}
      {error === null ? null : (
        <div class="notice bad" role="alert">
          <p>{error.message}</p>
          {error.hint === undefined ? null : <p>{error.hint}</p>}
          <p class="small">
            <code>{error.code}</code>
            {error.requestId === undefined ? null : (
              <>
                {' '}
                in request <code>{error.requestId}</code>
              </>
            )}
          </p>
        </div>
      )}
      {note === undefined ? null : <p class="dim small">{note}</p>}
      {running ? null : <SchemaCheck step={step} schemaText={schemaText} />}
      {step.figures.value === null ? null : <Figures figures={step.figures.value} />}
      {running || editing.value ? null : (
        <div class="row actions">
          {regenerate === undefined ? null : (
            <button type="button" class="small" onClick={regenerate}>
              Regenerate
            </button>
          )}
          <button
            type="button"
            class="small"
            onClick={() => {
              editing.value = true
            }}
          >
            Edit
          </button>
          {hasTokens ? (
            <button
              type="button"
              class="small"
              aria-pressed={asTokens.value}
              onClick={() => {
                asTokens.value = !asTokens.value
              }}
            >
              Probabilities
            </button>
          ) : null}
          <CopyButton label="Copy" text={() => step.content.value} />
          <CopyButton
            label="Copy as curl"
            text={() => mapped(request(), each => curlCommand(each.body, each.choice))}
          />
          <CopyButton label="Copy as JSON" text={() => mapped(request(), each => jsonText(each.body))} />
        </div>
      )}
    </div>
  )
}

function Content({ step }: { readonly step: Step }) {
  const text = step.content.value
  const running = step.status.value === 'running'
  return (
    <div aria-live="polite" aria-busy={running}>
      {text === '' && running ? <p class="dim">Waiting for the first token…</p> : <Markdown text={text} />}
    </div>
  )
}

function Thinking({ step }: { readonly step: Step }) {
  const thinking = step.thinking.value
  if (thinking === '') return null
  return (
    <details class="thinking">
      <summary>
        {step.status.value === 'running' && step.content.value === '' ? 'Thinking…' : 'Thoughts'}
        <span class="dim"> {thinking.length.toLocaleString('en')} characters</span>
      </summary>
      <p class="plain">{thinking.trim()}</p>
    </details>
  )
}

interface CallsProps {
  readonly step: Step
  readonly save: () => void
  /** Absent if the results were sent. */
  readonly sendResults: (() => void) | undefined
}

function Calls({ step, save, sendResults }: CallsProps) {
  const calls = step.calls.value
  const setResult = (index: number, result: string): void => {
    step.calls.value = calls.map((call, at) => (at === index ? { ...call, result } : call))
    save()
  }
  return (
    <form
      class="calls"
      onSubmit={event => {
        event.preventDefault()
        sendResults?.()
      }}
    >
      {calls.map((call, index) => (
        <CallCard
          key={call.id}
          call={call}
          setResult={sendResults === undefined ? undefined : result => setResult(index, result)}
        />
      ))}
      {sendResults === undefined ? null : (
        <div class="row">
          <button type="submit" class="primary">
            {calls.length === 1 ? 'Send result' : 'Send results'}
          </button>
        </div>
      )}
    </form>
  )
}

interface CallCardProps {
  readonly call: ToolCall
  /** Absent if the result can no longer change. */
  readonly setResult: ((text: string) => void) | undefined
}

function CallCard({ call, setResult }: CallCardProps) {
  return (
    <div class="call">
      <p>
        <strong>
          Calls <code>{call.name}</code>
        </strong>
      </p>
      <pre tabIndex={0}>{indented(call.arguments)}</pre>
      {setResult === undefined ? (
        call.result === '' ? null : (
          <>
            <p class="dim small">Result</p>
            <pre tabIndex={0}>{call.result}</pre>
          </>
        )
      ) : (
        <label>
          Result of {call.name}
          <textarea
            rows={3}
            required
            placeholder="Type what the function returns"
            value={call.result}
            onInput={event => setResult(event.currentTarget.value)}
          />
        </label>
      )}
    </div>
  )
}

function SchemaCheck({ step, schemaText }: { readonly step: Step; readonly schemaText: string }) {
  const check = useComputed(() => {
    const schema = parseSchema(schemaText)
    const { value: status } = step.status
    if (!schema.ok || schema.value === undefined || status === 'failed' || status === 'calls') return null
    return checkAnswer(step.content.value, schema.value)
  }).value
  if (check === null) return null
  return <p class={check.ok ? 'ok small' : 'bad-text small'}>{check.text}</p>
}

function Figures({ figures }: { readonly figures: StepFigures }) {
  const { firstTokenMs, totalMs, promptTokens, completionTokens, tokensPerSecond } = figures
  const items: readonly (readonly [string, string | null])[] = [
    ['First token', firstTokenMs === null ? null : milliseconds(firstTokenMs)],
    ['Tokens/s', tokensPerSecond === null ? null : tokensPerSecond.toFixed(1)],
    ['Prompt', promptTokens === null ? null : `${promptTokens} tokens`],
    ['Answer', completionTokens === null ? null : `${completionTokens} tokens`],
    ['Total', milliseconds(totalMs)]
  ]
  return (
    <dl class="figures">
      {items.map(([name, value]) =>
        value === null ? null : (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        )
      )}
    </dl>
  )
}

interface EditorProps {
  readonly label: string
  readonly text: string
  readonly action: string
  /** Returns false if the text cannot be saved. */
  readonly onSave: (text: string) => boolean
  readonly onCancel: () => void
}

/** Text field for a message that exists. Escape cancels. */
export function Editor({ label, text, action, onSave, onCancel }: EditorProps) {
  const draft = useSignal(text)
  return (
    <form
      class="editor"
      onSubmit={event => {
        event.preventDefault()
        onSave(draft.value)
      }}
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onCancel()
      }}
    >
      <textarea
        rows={4}
        aria-label={label}
        ref={element => {
          if (element !== null && !element.dataset.focused) {
            element.dataset.focused = 'true'
            element.focus()
          }
        }}
        value={draft.value}
        onInput={event => {
          draft.value = event.currentTarget.value
        }}
      />
      <div class="row">
        <button type="submit" class="primary">
          {action}
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

function milliseconds(value: number): string {
  return value < 1000 ? `${Math.round(value)} ms` : `${(value / 1000).toFixed(2)} s`
}

function mapped<A, B>(value: A | undefined, map: (value: A) => B): B | undefined {
  return value === undefined ? undefined : map(value)
}
